package io.jccl.collnet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import io.jccl.topology.PathType;
import io.jccl.tuning.AddedHostAlgorithm;
import io.jccl.tuning.ChoiceTable;
import io.jccl.tuning.CommunicatorShape;
import io.jccl.tuning.CommunicatorShape.SlotBytes;
import io.jccl.tuning.CostModel;
import io.jccl.tuning.GpuShape;
import io.jccl.tuning.GpuShapes;
import io.jccl.tuning.GraphCostModel;
import io.jccl.tuning.HostCosts;
import io.jccl.tuning.TuningOverrides;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the cost models for CollNet, a network that reduces. */
class CollNetCostTest {

    private static final CollNetTraits FAST = new CollNetTraits(2, true, 25, 2);

    private static CommunicatorShape shape(int hosts, int localRanks) {
        return shape(hosts, localRanks, localRanks);
    }

    private static CommunicatorShape shape(int hosts, int localRanks, int cores) {
        int ranks = hosts * localRanks;
        return new CommunicatorShape(
                ranks, hosts, localRanks, cores, 4, 5, TransportKind.SHM, 12.5, new SlotBytes(8000, 16000, 512 << 10));
    }

    private static CostModel model(int hosts, int localRanks, CollNetTraits traits) {
        List<AddedHostAlgorithm> added = traits == null ? List.of() : CollNetHostAlgorithm.of(traits);
        return new CostModel(HostCosts.builtIn(), shape(hosts, localRanks), added);
    }

    @Test
    void collNetExistsOnlyIfTheNetworkReduces() {
        for (Protocol protocol : Protocol.values()) {
            CostModel without = model(4, 2, null);
            CostModel reduces = model(4, 2, new CollNetTraits(1, false, 0, 0));
            CostModel gathers = model(4, 2, FAST);
            for (Collective collective : Collective.values()) {
                boolean parts = collective == Collective.ALL_GATHER || collective == Collective.REDUCE_SCATTER;
                boolean sums = collective == Collective.ALL_REDUCE;
                assertThat(without.exists(collective, Algorithm.COLLNET_DIRECT, protocol))
                        .isFalse();
                assertThat(without.exists(collective, Algorithm.COLLNET_CHAIN, protocol))
                        .isFalse();
                assertThat(reduces.exists(collective, Algorithm.COLLNET_DIRECT, protocol))
                        .isEqualTo(sums);
                assertThat(gathers.exists(collective, Algorithm.COLLNET_DIRECT, protocol))
                        .isEqualTo(sums || parts);
                assertThat(gathers.exists(collective, Algorithm.COLLNET_CHAIN, protocol))
                        .isEqualTo(sums);
            }
        }
    }

    @Test
    void chainsOfGpusExistForTheCollectivesOfTheNetwork() {
        GpuShape shape = GpuShapes.of(8, 32, 8, 24, PathType.NVL, 80);
        TuningOverrides only = TuningOverrides.of("collnetchain,ring", "simple", 0, 0, 0);
        for (CollNetTraits traits : new CollNetTraits[] {new CollNetTraits(8, false, 0, 0), FAST}) {
            GraphCostModel model = new GraphCostModel(shape, only, CollNetGpuAlgorithm.of(traits));
            assertThat(model.exists(Collective.ALL_REDUCE, Algorithm.COLLNET_CHAIN, Protocol.SIMPLE))
                    .isTrue();
            assertThat(model.exists(Collective.ALL_REDUCE, Algorithm.COLLNET_CHAIN, Protocol.LL))
                    .isFalse();
            assertThat(model.exists(Collective.BROADCAST, Algorithm.COLLNET_CHAIN, Protocol.SIMPLE))
                    .isFalse();
            for (Collective parts : new Collective[] {Collective.ALL_GATHER, Collective.REDUCE_SCATTER}) {
                assertThat(model.exists(parts, Algorithm.COLLNET_CHAIN, Protocol.SIMPLE))
                        .isEqualTo(traits.gathers());
                ChoiceTable table = ChoiceTable.build(model, only);
                assertThat(table.choice(parts, 1 << 10).algorithm())
                        .isEqualTo(traits.gathers() ? Algorithm.COLLNET_CHAIN : Algorithm.RING);
            }
        }
    }

    /**
     * Trees have fewer hops, which counts for little data. Chains send fewer bytes over a rank's links, which counts
     * for much data.
     */
    @Test
    void treesOfGpusAreChosenForLittleDataAndChainsForMuch() {
        GpuShape shape = GpuShapes.of(8, 32, 8, 24, PathType.NVL, 80);
        TuningOverrides only = TuningOverrides.of("collnet", "simple", 0, 0, 0);
        GraphCostModel model =
                new GraphCostModel(shape, only, CollNetGpuAlgorithm.of(new CollNetTraits(2, true, 0, 0)));
        ChoiceTable table = ChoiceTable.build(model, only);
        assertThat(table.choice(Collective.ALL_REDUCE, 8).algorithm()).isEqualTo(Algorithm.COLLNET_DIRECT);
        assertThat(table.choice(Collective.ALL_REDUCE, 1 << 30).algorithm()).isEqualTo(Algorithm.COLLNET_CHAIN);
        assertThat(table.choice(Collective.ALL_GATHER, 8).algorithm()).isEqualTo(Algorithm.COLLNET_CHAIN);
        for (Protocol protocol : Protocol.values()) {
            assertThat(model.exists(Collective.ALL_REDUCE, Algorithm.COLLNET_DIRECT, protocol))
                    .isEqualTo(protocol == Protocol.SIMPLE);
            assertThat(model.exists(Collective.ALL_GATHER, Algorithm.COLLNET_DIRECT, protocol))
                    .isFalse();
        }
    }

    /**
     * Eight ranks take two hops up and two down, and 31 us for the rest: 2 x 2 x (3.7 + 3 x 0.4) + 31. A tree of two
     * ranks is a chain.
     */
    @ParameterizedTest
    @CsvSource({"1, 31", "2, 39.2", "4, 40.8", "5, 50.6", "8, 50.6", "13, 50.6", "14, 60.4"})
    void aHopOfATreeCostsMoreForEachRankBelow(int localRanks, double micros) {
        CollNetGpuAlgorithm tree = new CollNetGpuAlgorithm(Algorithm.COLLNET_DIRECT, new CollNetTraits(2, true, 0, 0));
        assertThat(tree.latencyMicros(GpuShapes.of(localRanks, 2, 8, 24, PathType.NVL, 80)))
                .isCloseTo(micros, within(1e-9));
    }

    /** A ring between n hosts moves each byte nearly twice. Its latency grows with n, unlike that of the network. */
    @ParameterizedTest
    @ValueSource(longs = {8, 4096, 1 << 20, 256 << 20})
    void collNetIsChosenBetweenManyHosts(long bytes) {
        ChoiceTable table = ChoiceTable.build(model(32, 1, FAST), TuningOverrides.none());
        assertThat(table.choice(Collective.ALL_REDUCE, bytes).algorithm().name())
                .startsWith("COLLNET_");
    }

    @Test
    void collNetIsNotChosenIfTheNetworkTakesTooLong() {
        ChoiceTable table =
                ChoiceTable.build(model(2, 2, new CollNetTraits(1, true, 0.01, 5000)), TuningOverrides.none());
        for (long bytes = 8; bytes < 1L << 30; bytes *= 8) {
            assertThat(table.choice(Collective.ALL_REDUCE, bytes).algorithm().name())
                    .doesNotStartWith("COLLNET_");
        }
    }

    @Test
    void aLargeOperationUsesAllGroupsAndNoMoreIfEachChannelHasACore() {
        TuningOverrides only = TuningOverrides.of("collnetdirect", "simple", 0, 0, 0);
        CommunicatorShape fourCoresForEachRank = shape(8, 4, 16);
        CostModel model = new CostModel(HostCosts.builtIn(), fourCoresForEachRank, CollNetHostAlgorithm.of(FAST));
        ChoiceTable table = ChoiceTable.build(model, only);
        assertThat(table.choice(Collective.ALL_REDUCE, 0).channels()).isEqualTo(1);
        assertThat(table.choice(Collective.ALL_GATHER, 1 << 30).channels()).isEqualTo(2);
    }

    @Test
    void aSettingThatAllowsOnlyAMissingCollNetIsAnErrorUnlessCollNetIsTakenOutOfIt() {
        TuningOverrides only = TuningOverrides.of("collnet", null, 0, 0, 0);
        assertThatThrownBy(() -> ChoiceTable.build(model(2, 2, null), only))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("JCCL_ALGO=collnet: all_reduce has only [ring, tree, direct]");
        ChoiceTable others = ChoiceTable.build(
                model(2, 2, null), only.without(Set.of(Algorithm.COLLNET_DIRECT, Algorithm.COLLNET_CHAIN)));
        assertThat(others.choice(Collective.ALL_REDUCE, 1 << 20).algorithm().name())
                .doesNotStartWith("COLLNET_");
    }

    @Test
    void invalidTraitsAreRefused() {
        assertThatThrownBy(() -> new CollNetTraits(0, false, 1, 1)).hasMessageContaining("groups=0");
        assertThatThrownBy(() -> new CollNetTraits(1, false, Double.NaN, 1)).hasMessageContaining("gigabytes=NaN");
    }
}
