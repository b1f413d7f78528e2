package io.jccl.planning;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.jccl.topology.DescribedHosts;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.XmlElement;
import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests that the cost of planning grows linearly with the number of hosts and ranks. The cost is measured in allocated
 * bytes, not in time.
 */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class PlanningScaleTest {

    /** Factor by which the cost may grow if the number doubles; quadratic growth would be a factor of 4. */
    private static final double GROWTH = 2.2;

    @ParameterizedTest
    @ValueSource(strings = {"gpu4-nvswitch", "host-2numa"})
    void memoryGrowsNoFasterThanTheNumberOfHosts(String name) {
        XmlElement description = TopologyXmlReader.read(DescribedHosts.text(name));
        minBytes(() -> plan(description, 64)); // loads the classes
        long few = minBytes(() -> plan(description, 256));
        long more = minBytes(() -> plan(description, 512));
        long many = minBytes(() -> plan(description, 1024));
        assertThat((double) more).isLessThan(GROWTH * few);
        assertThat((double) many).isLessThan(GROWTH * more);
        // For each rank of a channel, a plan stores a few numbers and allocates temporary objects to compute them.
        long ranks = 1024L * 4;
        assertThat(many / ranks).isLessThan(16_384);
    }

    @Test
    void memoryGrowsNoFasterThanTheNumberOfHostRanks() {
        minBytes(() -> plan(64));
        long few = minBytes(() -> plan(200));
        long more = minBytes(() -> plan(400));
        long many = minBytes(() -> plan(800));
        assertThat((double) more).isLessThan(GROWTH * few);
        assertThat((double) many).isLessThan(GROWTH * more);
    }

    /** Makes the plan of two hosts with many ranks from their description. */
    private static void plan(int ranks) {
        XmlElement host = TopologyXmlReader.read(IntStream.range(0, ranks)
                .mapToObj(rank -> "<host rank='" + rank + "'/>")
                .collect(Collectors.joining(
                        "",
                        "<system version='1'><cpu numaid='0' arch='x86_64'>",
                        "</cpu><cpu numaid='1' arch='x86_64'><host rank='" + ranks + "'/></cpu></system>")));
        assertThat(DescribedPlans.plan(host, 2).shape().ranks()).isEqualTo(2 * (ranks + 1));
    }

    private static void plan(XmlElement description, int hosts) {
        assertThat(DescribedPlans.plan(description, hosts).host().hosts()).hasSize(hosts);
    }

    /**
     * Returns the bytes that a task allocates: the minimum of several runs, because the JVM itself also allocates
     * memory.
     */
    private static long minBytes(Runnable work) {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long min = Long.MAX_VALUE;
        for (int run = 0; run < 3; run++) {
            long before = threads.getCurrentThreadAllocatedBytes();
            work.run();
            min = Math.min(min, threads.getCurrentThreadAllocatedBytes() - before);
        }
        return min;
    }
}
