package io.jccl.tuning;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.plan.Plan;
import io.jccl.plan.PlanChecks;
import io.jccl.plan.PlanOptions;
import io.jccl.plan.RankChannels;
import io.jccl.search.ChannelGraph;
import io.jccl.search.ChannelSearch;
import io.jccl.search.Pattern;
import io.jccl.search.SearchOptions;
import io.jccl.topology.GraphBuilder;
import io.jccl.topology.Machines;
import io.jccl.topology.NodePaths;
import io.jccl.topology.SharedMaterial;
import io.jccl.topology.Topology;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.Trimmer;
import io.jccl.topology.XmlElement;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** From descriptions to the plan, with machines that have little in common. */
@Timeout(value = 3, unit = TimeUnit.MINUTES)
class PlanOfUnlikeMachinesTest {

    @Test
    void machines_of_this_project_are_planned_together_in_any_mixture() {
        List<RankChannels> kinds = Machines.NAMES.stream()
                .map(name -> found(TopologyXmlReader.read(Machines.text(name))))
                .toList();
        mixtures(kinds, 300);
    }

    @Test
    void the_machines_beside_the_project_are_planned_together_in_any_mixture() throws IOException {
        Optional<Path> folder = SharedMaterial.find("topologies");
        assumeTrue(folder.isPresent(), "no descriptions beside the project");
        List<RankChannels> kinds = new ArrayList<>();
        try (Stream<Path> files = Files.list(folder.get())) {
            for (Path file : files.filter(name -> name.toString().endsWith(".xml"))
                    .sorted()
                    .toList()) {
                kinds.add(found(TopologyXmlReader.read(file)));
            }
        }
        assertThat(kinds).hasSizeGreaterThan(40);
        mixtures(kinds, 300);
    }

    private static void mixtures(List<RankChannels> kinds, int rounds) {
        for (int round = 0; round < rounds; round++) {
            Random random = new Random(round);
            List<RankChannels> machines = new ArrayList<>();
            for (int machine = random.nextInt(9); machine >= 0; machine--) {
                machines.add(kinds.get(random.nextInt(kinds.size())));
            }
            List<RankChannels> ranks = PlanInput.together(machines);
            Plan plan = Plan.build(ranks, PlanOptions.defaults());
            assertThat(plan.machines()).hasSize(machines.size());
            assertThat(plan.size())
                    .isEqualTo(machines.stream()
                            .mapToInt(machine -> machine.rings().orders().get(0).size())
                            .sum());
            PlanChecks.check(plan);
        }
    }

    private static RankChannels found(XmlElement description) {
        Topology all = GraphBuilder.build(description);
        int first = Topology.rankOf(all.node(all.endpoints().get(0)));
        Topology topology = Trimmer.trim(NodePaths.compute(all), first, true);
        ChannelSearch search =
                new ChannelSearch(NodePaths.compute(topology), SearchOptions.forMachine(topology, 8, true));
        ChannelGraph rings = search.search(Pattern.RING);
        return PlanInput.of(first, "described", topology, rings, search.searchTree(rings));
    }
}
