package io.jccl.planning;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.TransportKind;
import io.jccl.topology.DescribedHosts;
import io.jccl.topology.SharedMaterial;
import io.jccl.topology.TopologyXmlReader;
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

/** Plans mixtures of described hosts that have little in common. */
@Timeout(value = 3, unit = TimeUnit.MINUTES)
class PlanOfUnlikeHostsTest {

    @Test
    void hostsDescribedInThisProjectArePlannedTogetherInAnyMixture() {
        List<MachineSurvey> kinds = DescribedHosts.NAMES.stream()
                .map(name -> found(TopologyXmlReader.read(DescribedHosts.text(name))))
                .toList();
        mixtures(kinds, 300);
    }

    @Test
    void hostsDescribedNextToTheProjectArePlannedTogetherInAnyMixture() throws IOException {
        Optional<Path> folder = SharedMaterial.find("topologies");
        assumeTrue(folder.isPresent(), "no descriptions next to the project");
        List<MachineSurvey> kinds = new ArrayList<>();
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

    private static void mixtures(List<MachineSurvey> kinds, int rounds) {
        for (int round = 0; round < rounds; round++) {
            Random random = new Random(round);
            List<MachineSurvey> hosts = new ArrayList<>();
            for (int host = random.nextInt(9); host >= 0; host--) {
                hosts.add(kinds.get(random.nextInt(kinds.size())));
            }
            Plan plan = DescribedPlans.plan(hosts, TransportKind.SHM).host();
            assertThat(plan.hosts()).hasSize(hosts.size());
            assertThat(plan.size())
                    .isEqualTo(hosts.stream()
                            .mapToInt(host ->
                                    host.channels().rings().orders().get(0).size())
                            .sum());
            PlanChecks.check(plan);
        }
    }

    private static MachineSurvey found(XmlElement description) {
        return DescribedPlans.survey(description, true).survey();
    }
}
