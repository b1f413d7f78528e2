package io.jccl.cli.topo;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.tuning.TopologyReport;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MachineTreeTest {

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 8, 64, 200})
    void treesOfThePlanSpanAllMachines(int machines) {
        TopologyReport report = Reports.of(Reports.machine(1, 1, 2, Reports.Fabric.SWITCH), machines);
        TopologyReport.PlanRow plan = report.plan().orElseThrow();
        List<MachineTree> trees = MachineTree.of(plan);
        assertThat(trees.stream().mapToInt(tree -> tree.channels().size()).sum())
                .isEqualTo(plan.channels());
        for (MachineTree tree : trees) {
            assertThat(tree.up()).hasSize(machines).containsOnlyOnce(-1);
            assertThat(tree.below().stream().mapToInt(List::size).sum()).isEqualTo(machines - 1);
            assertThat(tree.depth()).isBetween(1, 33 - Integer.numberOfLeadingZeros(machines));
        }
    }
}
