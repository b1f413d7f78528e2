package io.jccl.init;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.CommunicatorConfig;
import io.jccl.config.Settings;
import io.jccl.nativelib.EngineConfig;
import io.jccl.nativelib.Rows;
import io.jccl.planning.Found;
import io.jccl.planning.Plan;
import io.jccl.planning.PlanOptions;
import io.jccl.planning.RankChannels;
import io.jccl.search.ChannelGraph;
import io.jccl.search.Pattern;
import io.jccl.search.Rail;
import io.jccl.topology.GraphBuilder;
import io.jccl.topology.PathType;
import io.jccl.topology.Topology;
import io.jccl.topology.TopologyXmlReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EngineSettingsTest {

    private static Duration peerTimeout(CommunicatorConfig.Builder builder) {
        return EngineSettings.peerTimeout(Settings.load(builder.build()));
    }

    @Test
    void aHostThatAcknowledgesNothingIsGivenUpAfter15Seconds() {
        assertThat(peerTimeout(CommunicatorConfig.builder())).isEqualTo(Duration.ofSeconds(15));
    }

    @Test
    void anEngineThatStagesForGpusHasSlotsOfTheirSize() {
        EngineConfig config = new EngineConfig();
        EngineConfig unset = EngineSettings.forStaging(config, Settings.load(CommunicatorConfig.defaults()));
        assertThat(unset.get(EngineConfig.SIMPLE_SLOT_BYTES)).isEqualTo(512 << 10);
        assertThat(unset.get(EngineConfig.LL_SLOT_BYTES)).isEqualTo(64 << 10);
        assertThat(unset.get(EngineConfig.LL128_SLOT_BYTES)).isEqualTo(600 << 10);
        assertThat(unset.get(EngineConfig.COMM_ID_LO)).isEqualTo(-1);

        Settings settings = Settings.load(
                CommunicatorConfig.builder().setting("JCCL_BUFFSIZE", "1M").build());
        assertThat(EngineSettings.forStaging(config, settings).get(EngineConfig.SIMPLE_SLOT_BYTES))
                .isEqualTo(128 << 10);
    }

    @Test
    void theEngineKnowsNetworkDevicesByTheNumbersOfThePlan() {
        Topology topology = GraphBuilder.build(
                TopologyXmlReader.read(
                        "<system version='1'><cpu numaid='0' arch='x86_64'><nic>"
                                + "<net name='mlx5_0' dev='0' port='2' speed='100000' interface='ens1'/>"
                                + "<net name='eth0' dev='3' speed='10000'/><net name='eth1' dev='-1' speed='10000'/></nic></cpu></system>"));
        assertThat(EngineSettings.netDevices(topology)).isEqualTo("0 mlx5_0\n0 mlx5_0:2\n0 ens1\n3 eth0\n3 eth0:1\n");
    }

    @Test
    void theDeviceRowsOfAChannelEndWithOneForAllItsOtherConnections() {
        List<RankChannels> ranks = new ArrayList<>();
        for (int rank = 0; rank < 2; rank++) {
            ChannelGraph found = Found.rings(
                    1, 1, PathType.PHB, PathType.PHB, false, List.of(List.of(rank)), List.of(new Rail(rank, rank)));
            ranks.add(Found.rank(rank, "host-" + rank, false, found, Pattern.BALANCED_TREE));
        }
        Plan plan = Plan.build(ranks, new PlanOptions(1, 1));
        int[] rows = EngineConnector.paths(plan, 2, 1);
        int[] ofChannel1 = Arrays.copyOfRange(rows, rows.length / 2, rows.length);
        assertThat(ofChannel1).startsWith(1, 0, 1, 0, 1).endsWith(1, 1, 1, 1, 1);
        assertThat(rows.length % Rows.PATH_LENGTH).isZero();
        assertThat(EngineConnector.paths(Plan.build(List.of(ranks.get(0)), new PlanOptions(1, 1)), 1, 0))
                .isEmpty();
    }

    /**
     * A silent connection must fail before the coordinator reports its rank, because the connection's error says more.
     */
    @ParameterizedTest
    @CsvSource({"8s, 6000", "2s, 1500", "1h, 2700000"})
    void aSilentConnectionIsGivenUpBeforeItsRank(String heartbeatTimeout, long millis) {
        assertThat(peerTimeout(CommunicatorConfig.builder().setting("JCCL_HEARTBEAT_TIMEOUT", heartbeatTimeout)))
                .isEqualTo(Duration.ofMillis(millis));
    }
}
