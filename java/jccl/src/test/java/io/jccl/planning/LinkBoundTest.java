package io.jccl.planning;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.Collective;
import io.jccl.CommunicatorConfig;
import io.jccl.TransportKind;
import io.jccl.config.Settings;
import io.jccl.init.Parts;
import io.jccl.planning.Surveyor.LocalSurvey;
import io.jccl.search.RandomHost;
import io.jccl.topology.DescribedHosts;
import io.jccl.topology.SharedMaterial;
import io.jccl.topology.SharedRanks;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.XmlElement;
import io.jccl.tuning.Choice;
import io.jccl.tuning.ChoiceTable;
import io.jccl.tuning.ChoiceTable.Candidate;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests that no form of any operation is predicted to be faster than the links between GPUs allow: on given, described
 * and random hosts, for ranks that are threads of one process and for ranks that are processes.
 */
class LinkBoundTest {

    private static final int RANDOM_HOSTS = 40;
    private static final int MAX_RANDOM_GPUS = 9;
    private static final double ROUNDING = 1e-9;

    private static final PlanningOptions OPTIONS =
            DescribedPlans.options(Parts.expected(Settings.load(CommunicatorConfig.defaults())));

    static Stream<Named<XmlElement>> hosts() {
        Map<String, XmlElement> found = new LinkedHashMap<>();
        DescribedHosts.NAMES.forEach(name -> found.put(name, TopologyXmlReader.read(DescribedHosts.text(name))));
        found.put(
                "gpu4-nvswitch with 3, 1, 2 and 1 ranks",
                TopologyXmlReader.read(
                        SharedRanks.on(DescribedHosts.text("gpu4-nvswitch"), SharedRanks.ascending(3, 1, 2, 1))));
        SharedMaterial.find("topologies").ifPresent(folder -> {
            try (Stream<Path> files = Files.list(folder)) {
                files.filter(file -> file.toString().endsWith(".xml"))
                        .sorted()
                        .forEach(file -> found.put(file.getFileName().toString(), TopologyXmlReader.read(file)));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        return found.entrySet().stream().map(entry -> Named.of(entry.getKey(), entry.getValue()));
    }

    @ParameterizedTest
    @MethodSource("hosts")
    void noFormIsPredictedFasterThanItsLinks(XmlElement description) {
        for (int hosts = 1; hosts <= 2; hosts++) {
            check(description, hosts);
        }
    }

    @Test
    void noFormIsPredictedFasterThanItsLinksOnRandomHosts() {
        int checked = 0;
        for (long seed = 0; seed < RANDOM_HOSTS; seed++) {
            checked += check(TopologyXmlReader.read(RandomHost.description(seed, MAX_RANDOM_GPUS)), 1);
        }
        assertThat(checked).isGreaterThan(RANDOM_HOSTS * 100);
    }

    /** Checks all forms of all operations; returns how many. */
    private static int check(XmlElement description, int hosts) {
        LocalSurvey local = DescribedPlans.survey(description, hosts > 1);
        if (!local.survey().channels().gpu()) {
            return 0;
        }
        List<MachineSurvey> ranks = MachineSurvey.together(Collections.nCopies(hosts, local.survey()));
        CommunicatorPlan plan = Planner.plan(ranks, ranks, TransportKind.SHM, OPTIONS);
        LinkBound bound = new LinkBound(local.paths(), plan.onDevices());
        int checked = 0;
        for (boolean threads : hosts > 1 ? new boolean[] {false} : new boolean[] {true, false}) {
            ChoiceTable table = Planner.deviceChoices(
                    plan, DeviceFacts.planned(plan.onDevices(), local.survey().traits(), threads, OPTIONS), OPTIONS);
            for (Collective collective : Collective.values()) {
                for (Candidate candidate : table.candidates(collective)) {
                    checked += check(table, bound, collective, candidate, threads);
                }
                for (long bytes = 8; bytes <= 4L << 30; bytes *= 4) {
                    Choice choice = table.choice(collective, bytes);
                    assertThat(table.linkMicros(collective, bytes))
                            .as("the bound that reports show: %s %s bytes=%d", collective, choice, bytes)
                            .isLessThanOrEqualTo(table.predictedMicros(collective, bytes) * (1 + ROUNDING))
                            .isGreaterThanOrEqualTo(bound.micros(collective, choice, bytes) * (1 - ROUNDING));
                }
            }
        }
        return checked;
    }

    private static int check(
            ChoiceTable table, LinkBound bound, Collective collective, Candidate candidate, boolean threads) {
        int checked = 0;
        for (long bytes = 8; bytes <= 4L << 30; bytes = bytes * 3 / 2) {
            Choice choice = table.best(collective, candidate, bytes, table.overrides());
            assertThat(table.micros(collective, choice, bytes))
                    .as("threads=%s %s %s bytes=%d", threads, collective, choice, bytes)
                    .isGreaterThanOrEqualTo(bound.micros(collective, choice, bytes) * (1 - ROUNDING));
            checked++;
        }
        return checked;
    }

    /**
     * On hosts without NVLink, all GPUs that read and write each other's memory share the links between PCI switches
     * and sockets. There a ring carries more than the direct algorithm in place.
     */
    @ParameterizedTest
    @ValueSource(strings = {"l40s_8gpu_4nic", "vm_8xa10g", "pcie16_t4"})
    void largeDataGoesRoundRingsOrTreesIfAllPairsShareALink(String name) throws IOException {
        Path file = SharedMaterial.find("topologies/" + name + ".xml").orElse(null);
        assumeTrue(file != null, "no descriptions next to the project");
        LocalSurvey local = DescribedPlans.survey(TopologyXmlReader.read(Files.readString(file)), false);
        List<MachineSurvey> ranks = MachineSurvey.together(List.of(local.survey()));
        CommunicatorPlan plan = Planner.plan(ranks, ranks, TransportKind.SHM, OPTIONS);
        Choice choice = Planner.deviceChoices(
                        plan,
                        DeviceFacts.planned(plan.onDevices(), local.survey().traits(), true, OPTIONS),
                        OPTIONS)
                .choice(Collective.ALL_REDUCE, 256L << 20);
        assertThat(choice.tryZeroCopy()).isFalse();
    }
}
