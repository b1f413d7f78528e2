package io.jccl.tuning;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.jccl.topology.Machines;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.XmlElement;
import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What plan, tuning and report of many machines take grows with their number: counted in bytes allocated, not in time. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class TopologyScaleTest {

    private static final CommunicatorShape.SlotBytes SLOTS = new CommunicatorShape.SlotBytes(8192, 16384, 65536);

    /** Twice the machines may take this much more; with the square of their number it would be four times. */
    private static final double GROWTH = 2.2;

    @ParameterizedTest
    @ValueSource(strings = {"gpu4-nvswitch", "host-2numa"})
    void memory_grows_no_faster_than_the_number_of_machines(String name) {
        XmlElement description = TopologyXmlReader.read(Machines.text(name));
        least(description, 64); // classes are loaded
        long few = least(description, 256);
        long more = least(description, 512);
        long most = least(description, 1024);
        assertThat((double) more).isLessThan(GROWTH * few);
        assertThat((double) most).isLessThan(GROWTH * more);
        // A rank of a channel is a few numbers, and what is made on the way to them.
        long ranks = 1024L * 4;
        assertThat(most / ranks).isLessThan(16_384);
    }

    /** Of several runs the one in which the virtual machine allocates least for itself. */
    private static long least(XmlElement description, int machines) {
        long least = Long.MAX_VALUE;
        for (int run = 0; run < 3; run++) {
            least = Math.min(least, allocated(description, machines));
        }
        return least;
    }

    private static long allocated(XmlElement description, int machines) {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadAllocatedBytes();
        TopologyReport report = ReportRequests.report(description, machines, SLOTS, 0);
        assertThat(report.plan().orElseThrow().machines()).hasSize(machines);
        return threads.getCurrentThreadAllocatedBytes() - before;
    }
}
