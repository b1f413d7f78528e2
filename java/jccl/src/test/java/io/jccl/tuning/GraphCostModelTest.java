package io.jccl.tuning;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import io.jccl.search.GraphSummary;
import io.jccl.search.Pattern;
import io.jccl.search.PeerRates;
import io.jccl.topology.PathType;
import java.util.List;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GraphCostModelTest {

    private static final GpuShape DGX_A100 = GpuShapes.of(8, 1, 12, 20, PathType.NVL, 80);
    private static final GpuShape PCIE = GpuShapes.of(8, 1, 1, 12, PathType.PHB, 86);

    /** Widely published results of nccl-tests' all_reduce_perf on the listed hosts, at 1 GiB and more, without NVLS. */
    @ParameterizedTest
    @CsvSource({
        "DGX-1 V100,        8, 1,  6, 20, NVL, 70, 120",
        "DGX A100,          8, 1, 12, 20, NVL, 80, 230",
        "two DGX A100,      8, 2,  8, 24, NVL, 80, 190",
        "DGX H100,          8, 1, 12, 30, NVL, 90, 360",
        "32 DGX H100,       8, 32, 8, 48, NVL, 90, 350",
        "8 A10G in a VM,    8, 1,  1, 12, SYS, 86, 11",
        "8 L40S behind CPU, 8, 1,  1, 24, PHB, 89, 22",
    })
    void busBandwidthIsCloseToPublishedResults(
            String name, int local, int hosts, int channels, double gbps, PathType type, int sm, double known) {
        GpuShape shape = GpuShapes.of(local, hosts, channels, gbps, type, sm);
        long bytes = 4L << 30;
        double micros = table(shape, TuningOverrides.none()).predictedMicros(Collective.ALL_REDUCE, bytes);
        double busbw = bytes / micros / 1000 * 2 * (shape.ranks() - 1) / shape.ranks();
        assertThat(busbw).as(name).isCloseTo(known, Percentage.withPercentage(25));
    }

    @Test
    void eightBytesTakeAsLongAsALaunchAndTheHops() {
        // 6.6 µs to launch, and 14 hops of 0.6 µs.
        assertThat(micros(DGX_A100, "ring", "ll", 8)).isCloseTo(15.0, within(0.01));
        // 6.8 µs to launch; in each direction 3 levels of hosts over a network of 5 µs, and 7 hops of 0.6 µs.
        assertThat(micros(GpuShapes.of(8, 8, 8, 24, PathType.NVL, 80), "tree", "ll", 8))
                .isCloseTo(6.8 + 2 * (3 * 5 + 7 * 0.6), within(0.01));
    }

    /** 6.6 µs to launch, one hop of 0.6 µs, and six further flags to poll; a ring has 14 hops. */
    @Test
    void smallDataGoesDirectlyFromEachRankToEachOther() {
        ChoiceTable table = table(DGX_A100, TuningOverrides.none());
        for (Collective collective : List.of(
                Collective.ALL_REDUCE,
                Collective.ALL_GATHER,
                Collective.REDUCE_SCATTER,
                Collective.BROADCAST,
                Collective.REDUCE,
                Collective.BARRIER)) {
            Choice choice = table.choice(collective, 8);
            assertThat(choice.algorithm()).as("%s", collective).isEqualTo(Algorithm.DIRECT);
            assertThat(choice.protocol()).isEqualTo(Protocol.LL);
            assertThat(table.predictedMicros(collective, 8)).isCloseTo(7.8, within(0.01));
        }
        assertThat(table.choice(Collective.ALL_REDUCE, 1 << 20).algorithm()).isNotEqualTo(Algorithm.DIRECT);
    }

    /** Only two channels connect all pairs of ranks. */
    @Test
    void directOperationsUseAtMostTheChannelsThatConnectAllPairs() {
        ChoiceTable direct = table(DGX_A100, TuningOverrides.of("direct", null, 4, 0, 0));
        for (long bytes = 8; bytes <= 1 << 26; bytes *= 2) {
            assertThat(direct.choice(Collective.ALL_REDUCE, bytes).channels()).isBetween(1, 2);
        }
        assertThat(table(DGX_A100, TuningOverrides.of(null, null, 4, 0, 0))
                        .choice(Collective.ALL_REDUCE, 8)
                        .algorithm())
                .isNotEqualTo(Algorithm.DIRECT);
        assertThat(direct.choice(Collective.ALL_REDUCE, 8).twoShot()).isFalse();
        assertThat(direct.choice(Collective.ALL_REDUCE, 1 << 16).twoShot()).isTrue();
    }

    @Test
    void hostsAndRanksWithoutConnectionsBetweenAllPairsAreNotOfferedDirectOperations() {
        GpuShape twoHosts = GpuShapes.of(4, 2, 8, 24, PathType.NVL, 80);
        GpuShape many = GpuShapes.of(65, 1, 8, 24, PathType.NVL, 80);
        GpuShape alone = GpuShapes.of(1, 1, 8, 24, PathType.NVL, 80);
        for (GpuShape shape : List.of(twoHosts, many, alone)) {
            assertThat(new GraphCostModel(shape, TuningOverrides.none())
                            .exists(Collective.ALL_REDUCE, Algorithm.DIRECT, Protocol.LL))
                    .as("%s", shape)
                    .isFalse();
        }
    }

    @Test
    void everyCollectiveWithAKernelHasItsOwnShareOfTheRing() {
        long bytes = 1L << 36;
        ChoiceTable table = table(DGX_A100, TuningOverrides.of("ring", "simple", 0, 0, 0));
        assertThat(gbps(table, Collective.ALL_REDUCE, bytes)).isCloseTo(240 * 8 / 14.0, within(1.0));
        assertThat(gbps(table, Collective.ALL_GATHER, bytes)).isCloseTo(240 * 8 / 7.0, within(1.0));
        assertThat(gbps(table, Collective.REDUCE_SCATTER, bytes)).isCloseTo(240 * 8 / 7.0, within(1.0));
        assertThat(gbps(table, Collective.BROADCAST, bytes)).isCloseTo(240, within(1.0));
        assertThat(gbps(table, Collective.REDUCE, bytes)).isCloseTo(240, within(1.0));
    }

    @Test
    void collectivesWithoutAKernelGoPointToPointAndShareTheNetwork() {
        GpuShape shape = GpuShapes.of(8, 4, 8, 24, PathType.NVL, 80);
        ChoiceTable table = table(shape, TuningOverrides.none());
        for (Collective collective :
                List.of(Collective.ALL_TO_ALL, Collective.GATHER, Collective.SCATTER, Collective.SEND_RECV)) {
            assertThat(table.choice(collective, 1 << 20).algorithm()).isEqualTo(Algorithm.DIRECT);
        }
        // Three quarters of each rank's data leave the host, and its 8 ranks share its network: 192 GB/s / 8 / 0.75.
        assertThat(gbps(table, Collective.ALL_TO_ALL, 1L << 36)).isCloseTo(32, within(0.5));
        // Only one rank of a host receives. Three quarters of its data come over the network; the rest comes from its
        // own host at the same time.
        assertThat(gbps(table, Collective.GATHER, 1L << 36)).isCloseTo(192, within(1.0));
    }

    @Test
    void twoHostsMayUseTreesTwiceAsWideAsTheNetwork() {
        GraphSummary ring = new GraphSummary(Pattern.RING, 4, 12, 12, PathType.NVL);
        GraphSummary tree = new GraphSummary(Pattern.BALANCED_TREE, 4, 24, 12, PathType.NVL);
        GpuShape two = GpuShapes.of(8, 2, 8, ring, tree, 80, 80, false);
        GpuShape three = GpuShapes.of(8, 3, 8, ring, tree, 80, 80, false);
        double ofTwo = gbps(table(two, TuningOverrides.of("tree", "simple", 0, 0, 0)), Collective.ALL_REDUCE, 1L << 36);
        double ofThree =
                gbps(table(three, TuningOverrides.of("tree", "simple", 0, 0, 0)), Collective.ALL_REDUCE, 1L << 36);
        assertThat(ofTwo).isBetween(30.0, 48.0);
        assertThat(ofThree).isBetween(15.0, 24.0);
    }

    @Test
    void repeatedChannelsCarryNoMoreAndMissingOnesCarryLess() {
        GraphSummary ring = new GraphSummary(Pattern.RING, 8, 24, 24, PathType.NVL);
        double once = gbps(ringOnly(GpuShapes.of(8, 2, 8, ring, ring, 80, 80, false)), Collective.BROADCAST, 1L << 36);
        double twice =
                gbps(ringOnly(GpuShapes.of(8, 2, 16, ring, ring, 80, 80, false)), Collective.BROADCAST, 1L << 36);
        double half = gbps(ringOnly(GpuShapes.of(8, 2, 4, ring, ring, 80, 80, false)), Collective.BROADCAST, 1L << 36);
        assertThat(twice).isCloseTo(once, within(0.1));
        assertThat(half).isCloseTo(once / 2, within(0.1));
    }

    @Test
    void processorsOfAmdSlowTheNetworkDown() {
        GraphSummary graph = new GraphSummary(Pattern.RING, 8, 24, 24, PathType.NVL);
        GpuShape intel = GpuShapes.of(8, 4, 8, graph, graph, 80, 80, false);
        GpuShape amd = GpuShapes.of(8, 4, 8, graph, graph, 80, 80, true);
        assertThat(micros(amd, "ring", "simple", 8)).isGreaterThan(micros(intel, "ring", "simple", 8));
        assertThat(micros(amd, "ring", "ll", 8 << 20)).isGreaterThan(micros(intel, "ring", "ll", 8 << 20));
    }

    @ParameterizedTest
    @CsvSource({
        "NVL, 1, 80, 80, true",
        "NVB, 1, 70, 70, true",
        "LOC, 1, 90, 90, true",
        "NVL, 1, 90, 100, true",
        "NVL, 1, 80, 90, false",
        "NVL, 1, 61, 61, false",
        "NVL, 1, 0, 0, false",
        "C2C, 1, 90, 90, false",
        "PIX, 1, 90, 90, false",
        "SYS, 1, 80, 80, false",
        "NVL, 2, 90, 90, false",
    })
    void ll128IsUsedOnlyIfLinesArriveWhole(PathType type, int hosts, int min, int max, boolean safe) {
        GraphSummary ring = new GraphSummary(Pattern.RING, 8, 24, 24, type);
        GpuShape shape = GpuShapes.of(4, hosts, 8, ring, ring, min, max, false);
        assertThat(uses(table(shape, TuningOverrides.none()), Protocol.LL128)).isEqualTo(safe);
        TuningOverrides off = TuningOverrides.none().with(Ll128.OFF, 0, ThreadThresholds.defaults());
        assertThat(uses(table(shape, off), Protocol.LL128)).isFalse();
        TuningOverrides force =
                TuningOverrides.of(null, "ll128", 0, 0, 0).with(Ll128.FORCE, 0, ThreadThresholds.defaults());
        ChoiceTable forced = table(shape, force);
        assertThat(forced.choice(Collective.ALL_REDUCE, 1 << 20).protocol()).isEqualTo(Protocol.LL128);
        assertThat(forced.notes().stream().anyMatch(note -> note.contains("falsify results")))
                .isEqualTo(!safe);
        TuningOverrides asked = TuningOverrides.of(null, "LL128", 0, 0, 0);
        if (safe) {
            assertThat(table(shape, asked).choice(Collective.ALL_REDUCE, 8).protocol())
                    .isEqualTo(Protocol.LL128);
        } else {
            assertThatThrownBy(() -> table(shape, asked))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("JCCL_PROTO=LL128: all_reduce has only [ll, simple]")
                    .hasMessageContaining("no ll128: ")
                    .hasMessageContaining("JCCL_LL128=force");
        }
    }

    private static boolean uses(ChoiceTable table, Protocol protocol) {
        for (long bytes = 8; bytes <= 1L << 30; bytes *= 2) {
            if (table.choice(Collective.ALL_REDUCE, bytes).protocol() == protocol
                    || table.choice(Collective.BROADCAST, bytes).protocol() == protocol) {
                return true;
            }
        }
        return false;
    }

    @Test
    void settingsAreFollowedOrRefusedWithTheAlternatives() {
        ChoiceTable tree = table(DGX_A100, TuningOverrides.of("tree", "^ll128,ll", 0, 0, 0));
        assertThat(tree.choice(Collective.ALL_REDUCE, 8))
                .extracting(Choice::algorithm, Choice::protocol)
                .containsExactly(Algorithm.TREE, Protocol.SIMPLE);
        assertThat(tree.choice(Collective.BROADCAST, 8))
                .extracting(Choice::algorithm, Choice::protocol)
                .containsExactly(Algorithm.RING, Protocol.SIMPLE); // direct has LL only
        assertThat(tree.notes())
                .anySatisfy(note -> assertThat(note).contains("JCCL_ALGO=tree: broadcast has only [ring, direct]"));
        ChoiceTable named = table(DGX_A100, TuningOverrides.of("ring;allreduce:tree", "simple;broadcast:ll", 0, 0, 0));
        assertThat(named.choice(Collective.ALL_REDUCE, 1 << 30).algorithm()).isEqualTo(Algorithm.TREE);
        assertThat(named.choice(Collective.BROADCAST, 1 << 30).protocol()).isEqualTo(Protocol.LL);
        GpuShape twoHosts = GpuShapes.of(8, 2, 8, 24, PathType.NVL, 80);
        assertThatThrownBy(() -> table(twoHosts, TuningOverrides.of("direct", null, 0, 0, 0)))
                .hasMessageContaining("JCCL_ALGO=direct: all_reduce has only [ring, tree]")
                .hasMessageContaining("GPU ranks=16 on hosts=2");
        assertThatThrownBy(() -> table(DGX_A100, TuningOverrides.of("all_gather:tree", null, 0, 0, 0)))
                .hasMessageContaining("all_gather has only [ring, direct]");
    }

    @Test
    void channelsGrowWithTheSizeWithinTheBounds() {
        ChoiceTable free = table(DGX_A100, TuningOverrides.none());
        assertThat(free.choice(Collective.ALL_REDUCE, 8).channels()).isEqualTo(1);
        assertThat(free.choice(Collective.ALL_REDUCE, 1 << 30).channels()).isEqualTo(12);
        int before = 1;
        ChoiceTable ring = table(DGX_A100, TuningOverrides.of("ring", "simple", 0, 0, 0));
        for (long bytes = 8; bytes <= 1 << 30; bytes *= 2) {
            int now = ring.choice(Collective.ALL_REDUCE, bytes).channels();
            assertThat(now).isGreaterThanOrEqualTo(before);
            before = now;
        }
        ChoiceTable bounded = table(DGX_A100, TuningOverrides.of(null, null, 2, 3, 0));
        assertThat(bounded.choice(Collective.ALL_REDUCE, 8).channels()).isEqualTo(2);
        assertThat(bounded.choice(Collective.ALL_REDUCE, 1 << 30).channels()).isEqualTo(3);
        assertThat(bounded.predictedMicros(Collective.BROADCAST, 1 << 30)
                        / free.predictedMicros(Collective.BROADCAST, 1 << 30))
                .isCloseTo(4, within(0.1));
    }

    @Test
    void thresholdsDetermineWhenAFurtherChannelPays() {
        // The sixth value in the list is the threshold of SIMPLE in a ring. A channel has 512 threads, or 256 on slow
        // links.
        ThreadThresholds eager = new ThreadThresholds(List.of(-2, -2, -2, -2, -2, 1));
        TuningOverrides overrides =
                TuningOverrides.of("ring", "simple", 0, 0, 0).with(Ll128.AUTO, 0, eager);
        assertThat(table(DGX_A100, overrides).choice(Collective.BROADCAST, 2048).channels())
                .isEqualTo(4);
        TuningOverrides usual = TuningOverrides.of("ring", "simple", 0, 0, 0);
        assertThat(table(DGX_A100, usual)
                        .choice(Collective.BROADCAST, 4 * 64 * 512)
                        .channels())
                .isEqualTo(4);
        ThreadThresholds none = new ThreadThresholds(List.of(0, 0, 0, 0, 0, 0));
        assertThat(table(DGX_A100, TuningOverrides.of("ring", null, 0, 0, 0).with(Ll128.AUTO, 0, none))
                        .choice(Collective.ALL_REDUCE, 8)
                        .channels())
                .isEqualTo(12);
        assertThatThrownBy(() -> new ThreadThresholds(List.of(1, 2, 3, 4, 5, 6, 7)))
                .hasMessageContaining("expected at most 6");
    }

    @Test
    void chunksOfTreesShrinkUntilThePipelineFills() {
        ChoiceTable tree =
                table(GpuShapes.of(8, 32, 8, 24, PathType.NVL, 80), TuningOverrides.of("tree", "simple", 0, 0, 0));
        assertThat(tree.choice(Collective.ALL_REDUCE, 64 << 10).chunkBytes()).isEqualTo(32 << 10);
        assertThat(tree.choice(Collective.ALL_REDUCE, 4L << 30).chunkBytes()).isEqualTo(512 << 10);
        ChoiceTable forced = table(PCIE, TuningOverrides.of(null, null, 0, 0, 4096));
        assertThat(forced.choice(Collective.ALL_REDUCE, 1 << 20).chunkBytes()).isEqualTo(4096);
    }

    @Test
    void aSingleRankOnlyCopies() {
        ChoiceTable table = table(GpuShapes.of(1, 1, 1, 40, PathType.LOC, 90), TuningOverrides.none());
        for (Collective collective : Collective.values()) {
            assertThat(table.predictedMicros(collective, 1 << 20)).isPositive().isLessThan(1000);
        }
    }

    @Test
    void shapesThatContradictThemselvesAreRefused() {
        GraphSummary ring = new GraphSummary(Pattern.RING, 1, 24, 24, PathType.NVL);
        assertThatThrownBy(() ->
                        new GpuShape(4, 5, 1, 1, 3, ring, ring, 80, 80, false, GpuShapes.SLOTS, 0, PeerRates.UNLIMITED))
                .hasMessageContaining("hosts=5");
        assertThatThrownBy(() ->
                        new GpuShape(4, 1, 4, 0, 3, ring, ring, 80, 80, false, GpuShapes.SLOTS, 0, PeerRates.UNLIMITED))
                .hasMessageContaining("channels=0");
        assertThatThrownBy(() ->
                        new GpuShape(4, 1, 4, 1, 3, ring, ring, 80, 70, false, GpuShapes.SLOTS, 0, PeerRates.UNLIMITED))
                .hasMessageContaining("maxCapability=70");
        assertThatThrownBy(() -> new GraphSummary(Pattern.RING, 1, 0, 24, PathType.NVL))
                .hasMessageContaining("bwIntra=0.0");
    }

    private static ChoiceTable ringOnly(GpuShape shape) {
        return table(shape, TuningOverrides.of("ring", "simple", 0, 0, 0));
    }

    private static double micros(GpuShape shape, String algorithm, String protocol, long bytes) {
        return table(shape, TuningOverrides.of(algorithm, protocol, 0, 0, 0))
                .predictedMicros(Collective.ALL_REDUCE, bytes);
    }

    private static double gbps(ChoiceTable table, Collective collective, long bytes) {
        return bytes / table.predictedMicros(collective, bytes) / 1000;
    }

    private static ChoiceTable table(GpuShape shape, TuningOverrides overrides) {
        return ChoiceTable.build(new GraphCostModel(shape, overrides), overrides);
    }
}
