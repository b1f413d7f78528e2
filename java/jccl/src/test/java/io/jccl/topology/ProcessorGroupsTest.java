package io.jccl.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigInteger;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProcessorGroupsTest {

    @TempDir
    Path root;

    private SysfsTree tree;

    @BeforeEach
    void twoNodesOfTwoCoresWithTwoThreads() {
        tree = new SysfsTree(root).node(0, "33", "10 20").node(1, "cc", "20 10");
        for (int processor = 0; processor < 8; processor++) {
            int core = processor % 4;
            tree.file(
                    "sys/devices/system/cpu/cpu" + processor + "/topology/thread_siblings",
                    Integer.toHexString(0x11 << core) + "\n");
        }
    }

    private ProcessorGroups allowed(String mask) {
        tree.file("proc/self/status", "Name:\tjava\nCpus_allowed:\t" + mask + "\nCpus_allowed_list:\t-\n");
        return ProcessorGroups.of(root);
    }

    private static List<BigInteger> masks(String... masks) {
        return List.of(masks).stream().map(mask -> new BigInteger(mask, 16)).toList();
    }

    @Test
    void coresOfANodeAreNeighbours() {
        ProcessorGroups groups = allowed("ff");
        assertThat(groups.nodes()).isEqualTo(masks("33", "cc"));
        assertThat(groups.cores()).isEqualTo(masks("11", "22", "44", "88"));
    }

    @Test
    void groupsContainOnlyProcessorsThatThisProcessMayUse() {
        ProcessorGroups groups = allowed("00000000,000000d1");
        assertThat(groups.open()).isEqualTo(0xd1);
        assertThat(groups.nodes()).isEqualTo(masks("11", "c0"));
        assertThat(groups.cores()).isEqualTo(masks("11", "40", "80"));
        assertThat(groups.within(BigInteger.valueOf(0x0f)).cores()).isEqualTo(masks("1"));
    }

    @Test
    void oneNodeHasAllProcessorsIfTheKernelReportsNoNodesAndNoSiblings() {
        new SysfsTree(root.resolve("bare")).file("proc/self/status", "Cpus_allowed:\t7\n");
        ProcessorGroups groups = ProcessorGroups.of(root.resolve("bare"));
        assertThat(groups.nodes()).isEqualTo(masks("7"));
        assertThat(groups.cores()).isEqualTo(masks("1", "2", "4"));
    }

    @Test
    void thereAreNoGroupsIfTheKernelReportsNothing() {
        ProcessorGroups groups = ProcessorGroups.of(root.resolve("nothing"));
        assertThat(groups.open()).isZero();
        assertThat(groups.nodes()).isEmpty();
        assertThat(groups.cores()).isEmpty();
    }
}
