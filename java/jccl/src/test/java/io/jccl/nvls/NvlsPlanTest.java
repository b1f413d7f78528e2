package io.jccl.nvls;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.CommunicatorConfig;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import io.jccl.config.Settings;
import io.jccl.planning.AddedAlgorithms;
import io.jccl.planning.CommunicatorPlan;
import io.jccl.planning.DescribedPlans;
import io.jccl.planning.DeviceFacts;
import io.jccl.planning.MachineSurvey;
import io.jccl.planning.Planner;
import io.jccl.planning.PlanningOptions;
import io.jccl.topology.DescribedHosts;
import io.jccl.topology.SharedMaterial;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.XmlElement;
import io.jccl.tuning.Choice;
import io.jccl.tuning.ChoiceTable;
import io.jccl.tuning.TuningOverrides;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Tests the choices of plans that expect NVLS. */
class NvlsPlanTest {

    private static final long LARGE = 256L << 20;

    private static AddedAlgorithms expected(String... settings) {
        CommunicatorConfig.Builder config = CommunicatorConfig.builder();
        for (int at = 0; at < settings.length; at += 2) {
            config.setting(settings[at], settings[at + 1]);
        }
        return new NvlsPart().expected(Settings.load(config.build()));
    }

    private static CommunicatorPlan plan(XmlElement description, int hosts) {
        return DescribedPlans.plan(description, hosts, expected());
    }

    private static XmlElement described(String name) {
        return TopologyXmlReader.read(DescribedHosts.text(name));
    }

    /** The switch reduces only large all-reduces, on one host, of GPUs from sm 9.0 on that are all connected to it. */
    @Test
    void theSwitchReducesIfAllGpusAreConnectedToIt() {
        CommunicatorPlan plan = plan(described("gpu4-nvswitch"), 1);
        assertThat(plan.choices().choice(Collective.ALL_REDUCE, LARGE).algorithm())
                .isEqualTo(Algorithm.NVLS);
        // In the following collectives, a ring sends the data at most once over each link.
        for (Collective collective : List.of(Collective.ALL_GATHER, Collective.REDUCE_SCATTER, Collective.BROADCAST)) {
            assertThat(plan.choices().choice(collective, LARGE).algorithm()).isEqualTo(Algorithm.RING);
        }
        assertThat(plan.choices().choice(Collective.ALL_REDUCE, 1024).algorithm())
                .isNotEqualTo(Algorithm.NVLS);
        String text = DescribedHosts.text("gpu4-nvswitch");
        String link = "<nvlink target=\"ffff:ff:ff.f\" count=\"18\" tclass=\"0x068000\"/>";
        assertThat(text).contains(link);
        assertNoSwitch(TopologyXmlReader.read(text.replace("sm=\"90\"", "sm=\"80\"")), 1); // the GPUs are too old
        assertNoSwitch(TopologyXmlReader.read(text.replaceFirst(link, "")), 1); // one GPU is not on the switch
        assertNoSwitch(described("gpu4-nvswitch"), 2); // each host has its own switch
    }

    private static void assertNoSwitch(XmlElement description, int hosts) {
        assertThat(plan(description, hosts)
                        .choices()
                        .choice(Collective.ALL_REDUCE, LARGE)
                        .algorithm())
                .isNotEqualTo(Algorithm.NVLS);
    }

    /**
     * Tests known hosts with expectations of this test's own, because NCCL's stored answers for these hosts do not
     * cover NVLS.
     */
    @Test
    void knownHostsWithNvSwitchReduceInIt() throws Exception {
        Path topologies = SharedMaterial.find("topologies").orElse(null);
        assumeTrue(topologies != null, "no descriptions next to the project");
        Map<String, Boolean> expected =
                Map.of("dgx_h100", true, "dgx_b200", true, "dgx_a100", false, "dgx1v", false, "l40s_8gpu_4nic", false);
        for (Map.Entry<String, Boolean> host : expected.entrySet()) {
            String text = Files.readString(topologies.resolve(host.getKey() + ".xml"));
            Choice choice = plan(TopologyXmlReader.read(text), 1).choices().choice(Collective.ALL_REDUCE, LARGE);
            assertThat(choice.algorithm() == Algorithm.NVLS).as(host.getKey()).isEqualTo(host.getValue());
        }
    }

    @Test
    void theSwitchDoesNotReduceIfTheSettingForbidsIt() {
        assertThat(expected("JCCL_NVLS_ENABLE", "0")).isEqualTo(AddedAlgorithms.NONE);
    }

    private static DeviceFacts connected(CommunicatorPlan plan) {
        return new DeviceFacts(
                Math.min(plan.onDevices().channels(), Planner.MAX_DEVICE_CHANNELS),
                1,
                90,
                90,
                false,
                false,
                EnumSet.allOf(Protocol.class),
                expected().onGpus());
    }

    private static CommunicatorPlan planOfGpus(PlanningOptions options) {
        return planOfGpus(described("gpu4-nvswitch"), options);
    }

    private static CommunicatorPlan planOfGpus(XmlElement description, PlanningOptions options) {
        List<MachineSurvey> ranks = MachineSurvey.together(
                List.of(DescribedPlans.survey(description, false).survey()));
        return Planner.plan(ranks, ranks, TransportKind.SHM, options);
    }

    /** The switch reduces what threads would otherwise read, write and reduce: (1 + 1/n) S instead of 2 (n - 1)/n S. */
    @Test
    void theSwitchReducesLargeDataOfThreadsAlso() throws Exception {
        List<XmlElement> hosts = new ArrayList<>(List.of(described("gpu4-nvswitch")));
        Path dgx = SharedMaterial.find("topologies/dgx_h100.xml").orElse(null);
        if (dgx != null) {
            hosts.add(TopologyXmlReader.read(Files.readString(dgx)));
        }
        PlanningOptions options = DescribedPlans.options(expected());
        for (XmlElement host : hosts) {
            CommunicatorPlan plan = planOfGpus(host, options);
            ChoiceTable choices = Planner.deviceChoices(plan, connected(plan).withInPlace(true), options);
            assertThat(choices.choice(Collective.ALL_REDUCE, LARGE).algorithm()).isEqualTo(Algorithm.NVLS);
        }
    }

    @Test
    void connectedGpusFollowTheChoicesOfTheirDescription() {
        PlanningOptions options = DescribedPlans.options(expected());
        CommunicatorPlan plan = planOfGpus(options);
        ChoiceTable choices = Planner.deviceChoices(plan, connected(plan), options);
        for (Collective collective : Collective.values()) {
            assertThat(choices.packed(collective)).isEqualTo(plan.choices().packed(collective));
        }
    }

    @Test
    void aSettingThatNamesOnlyNvlsIsAnErrorWithoutNvlsUnlessNvlsIsTakenOutOfIt() {
        PlanningOptions only = DescribedPlans.options(TuningOverrides.of("nvls", null, 0, 0, 0), expected());
        CommunicatorPlan plan = planOfGpus(only);
        DeviceFacts facts = connected(plan);
        assertThat(Planner.deviceChoices(plan, facts, only)
                        .choice(Collective.ALL_REDUCE, 8)
                        .algorithm())
                .isEqualTo(Algorithm.NVLS);
        Set<Algorithm> nvls = Set.of(Algorithm.NVLS);
        assertThatThrownBy(() -> Planner.deviceChoices(plan, facts.without(nvls), only))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("JCCL_ALGO=nvls: all_reduce has only [ring, tree, direct]");
        assertThat(Planner.deviceChoices(plan, facts.without(nvls), only.without(nvls))
                        .choice(Collective.ALL_REDUCE, LARGE)
                        .algorithm())
                .isNotEqualTo(Algorithm.NVLS);
    }
}
