package io.jccl.tuning;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import io.jccl.search.PeerRates;
import io.jccl.topology.PathType;
import java.util.EnumSet;
import java.util.Map;
import org.junit.jupiter.api.Test;

class DeviceModelTest {

    private static final long BYTES = 64L << 20;
    private static final int RANKS = 4;

    private static DeviceModel model(GpuShape shape, boolean inPlace) {
        return new DeviceModel(shape, 1, inPlace, EnumSet.allOf(Protocol.class), TuningOverrides.none());
    }

    private static double micros(DeviceModel model, Algorithm algorithm, Protocol protocol) {
        Choice choice = model.candidates(Collective.ALL_REDUCE, algorithm, protocol, BYTES, TuningOverrides.none())
                .get(0);
        return model.micros(Collective.ALL_REDUCE, choice, BYTES);
    }

    /** If NVLink cannot be used, rings take the time of the links to the host, and LL128 is not available. */
    @Test
    void dataThroughTheHostTakesTheTimeOfTheLinksToTheHost() {
        GpuShape fast = GpuShapes.of(RANKS, 1, 8, 24, PathType.NVL, 80);
        DeviceModel direct = model(fast, false);
        DeviceModel staged = model(fast.throughHost(DeviceModel.HOST_LINK_GBPS), false);
        double min = 2.0 * (RANKS - 1) / RANKS * BYTES / (DeviceModel.HOST_LINK_GBPS * 1000);
        for (Algorithm algorithm : new Algorithm[] {Algorithm.RING, Algorithm.TREE}) {
            assertThat(micros(direct, algorithm, Protocol.SIMPLE)).isLessThan(min);
            assertThat(micros(staged, algorithm, Protocol.SIMPLE)).isGreaterThanOrEqualTo(min);
        }
        assertThat(direct.exists(Collective.ALL_REDUCE, Algorithm.RING, Protocol.LL128))
                .isTrue();
        assertThat(staged.exists(Collective.ALL_REDUCE, Algorithm.RING, Protocol.LL128))
                .isFalse();
    }

    /**
     * Without a known topology, ranks of one device share its memory. Few ranks are limited by the speed of their
     * thread blocks.
     */
    @Test
    void ranksOnOneDeviceShareItsMemory() {
        for (int ranks : new int[] {2, 16}) {
            GpuShape shape = DeviceModel.assumedShape(ranks, 1, ranks, 8, ranks - 1, ranks, 80, 80, GpuShapes.SLOTS);
            assertThat(shape.ring().bwIntra() * 8).isEqualTo(Math.min(8 * 20, 777.5 / ranks));
            assertThat(shape.ring().typeIntra()).isEqualTo(PathType.LOC);
        }
        GpuShape several = DeviceModel.assumedShape(32, 1, 32, 8, 31, 17, 80, 80, GpuShapes.SLOTS);
        assertThat(several.ring().bwIntra() * 8).isEqualTo(777.5 / 16);
        assertThat(several.ring().typeIntra()).isEqualTo(PathType.PHB);
    }

    /**
     * With slots each byte is written and read once more, whatever the topology says about a device's path to itself.
     */
    @Test
    void largeDataOfRanksOnOneDeviceIsReducedInPlace() {
        for (int channels : new int[] {1, 32}) {
            GpuShape found = GpuShapes.of(2, 1, channels, 1600.0 / channels, PathType.LOC, 90);
            largeDataIsReducedInPlace(found.withChannels(32));
        }
    }

    private static void largeDataIsReducedInPlace(GpuShape found) {
        DeviceModel model = new DeviceModel(found, 2, true, EnumSet.allOf(Protocol.class), TuningOverrides.none());
        double inPlace = micros(model, Algorithm.DIRECT, Protocol.SIMPLE);
        for (Algorithm algorithm : new Algorithm[] {Algorithm.RING, Algorithm.TREE}) {
            assertThat(micros(model, algorithm, Protocol.SIMPLE)).isGreaterThan(1.5 * inPlace);
        }
        ChoiceTable table = ChoiceTable.build(model, TuningOverrides.none());
        for (long bytes = 1 << 20; bytes <= 1L << 30; bytes *= 2) {
            assertThat(Choice.algorithm(table.choose(Collective.ALL_REDUCE, bytes)))
                    .as("bytes=%d", bytes)
                    .isEqualTo(Algorithm.DIRECT);
        }
    }

    private static GpuShape withPeers(int ranks, double gbps) {
        GpuShape shape = GpuShapes.of(ranks, 1, 8, 24, PathType.PHB, 80);
        return new GpuShape(
                ranks,
                1,
                ranks,
                8,
                shape.treeDepth(),
                shape.ring(),
                shape.tree(),
                80,
                80,
                false,
                GpuShapes.SLOTS,
                0,
                new PeerRates(gbps, gbps, gbps, gbps));
    }

    /** One-shot moves S (1 - 2/n) bytes more between two GPUs, and saves a microsecond. */
    @Test
    void oneShotEndsWhereTheLinksNeedAMicrosecondMoreForIt() {
        assertThat(DeviceModel.oneShotBytes(withPeers(8, 60))).isEqualTo(80_000);
        assertThat(DeviceModel.oneShotBytes(withPeers(4, 3))).isEqualTo(6_000);
        long most = DeviceModel.MAX_ONE_SHOT_BYTES;
        assertThat(DeviceModel.oneShotBytes(withPeers(8, 1000))).isEqualTo(most);
        assertThat(DeviceModel.oneShotBytes(withPeers(2, 0.01))).isEqualTo(most);
        assertThat(DeviceModel.oneShotBytes(GpuShapes.of(RANKS, 1, 8, 24, PathType.NVL, 80)))
                .isEqualTo(most);
    }

    @Test
    void predictedTimesInPlaceDoNotDecreaseWhereOneShotEnds() {
        for (double gbps : new double[] {0.5, 3, 60, 1000}) {
            GpuShape shape = withPeers(8, gbps);
            DeviceModel model = model(shape, true);
            double before = 0;
            for (long bytes = 64; bytes <= 1 << 20; bytes += Math.max(64, bytes / 16)) {
                Choice choice = new Choice(Algorithm.DIRECT, Protocol.SIMPLE, 8, 512 << 10, true);
                double micros = model.micros(Collective.ALL_REDUCE, choice, bytes);
                assertThat(micros).as("GB/s=%s bytes=%d", gbps, bytes).isGreaterThanOrEqualTo(before);
                before = micros;
            }
        }
    }

    @Test
    void slowerPathsStayAsTheyAre() {
        GpuShape slow = GpuShapes.of(RANKS, 1, 1, 6, PathType.SYS, 80);
        assertThat(slow.throughHost(DeviceModel.HOST_LINK_GBPS).ring()).isEqualTo(slow.ring());
        PeerRates narrow = new PeerRates(0.5, 0.5, 3, 4);
        assertThat(narrow.throughHost(RANKS, DeviceModel.HOST_LINK_GBPS)).isEqualTo(narrow);
    }

    @Test
    void peersBuffersAreUsedOnlyInOneProcess() {
        GpuShape fast = GpuShapes.of(RANKS, 1, 8, 24, PathType.NVL, 80);
        assertThat(model(fast, true).exists(Collective.ALL_REDUCE, Algorithm.DIRECT, Protocol.SIMPLE))
                .isTrue();
        assertThat(model(fast, false).exists(Collective.ALL_REDUCE, Algorithm.DIRECT, Protocol.SIMPLE))
                .isFalse();
    }

    /**
     * Copy engines are tried for large all-gathers and all-to-alls of ranks that reach each other's memory, whatever
     * algorithm executes them otherwise, and never change the predicted time.
     */
    @Test
    void largeDataOfSymmetricMemoryIsCopied() {
        GpuShape shape = GpuShapes.of(RANKS, 1, 8, 24, PathType.NVL, 90);
        PeerRates rates = new PeerRates(60, 60, 180, 24);
        GpuShape linked = GpuShapes.withPeers(shape, rates);
        ChoiceTable table = ChoiceTable.build(model(linked, true), TuningOverrides.none());
        ChoiceTable apart = ChoiceTable.build(model(linked, false), TuningOverrides.none());
        for (Collective collective : Collective.values()) {
            boolean copied = collective == Collective.ALL_GATHER || collective == Collective.ALL_TO_ALL;
            assertThat(table.choice(collective, 8).tryCopies())
                    .as("%s", collective)
                    .isFalse();
            assertThat(table.choice(collective, 4L << 30).tryCopies())
                    .as("%s", collective)
                    .isEqualTo(copied);
            for (long bytes = 8; bytes <= 4L << 30; bytes *= 8) {
                Choice choice = table.choice(collective, bytes);
                assertThat(apart.choice(collective, bytes).tryCopies()).isFalse();
                assertThat(Choice.unpack(choice.pack())).isEqualTo(choice);
                assertThat(table.with(Map.of(collective, table.packed(collective)))
                                .choice(collective, bytes))
                        .isEqualTo(choice);
            }
        }
    }

    /**
     * Receivers read large messages over NVLink, which saves half of the accesses of blocks. Over PCI Express, reads are
     * slower than the links carry slots.
     */
    @Test
    void largeMessagesOfSymmetricMemoryAreReadOverNvlinkOnly() {
        PeerRates rates = new PeerRates(60, 60, 450, 24);
        PeerRates slow = new PeerRates(3, 12, 24, 24);
        ChoiceTable nvlink = ChoiceTable.build(
                model(GpuShapes.withPeers(GpuShapes.of(RANKS, 1, 8, 24, PathType.NVL, 90), rates), true),
                TuningOverrides.none());
        ChoiceTable apart = ChoiceTable.build(
                model(GpuShapes.withPeers(GpuShapes.of(RANKS, 1, 8, 24, PathType.NVL, 90), rates), false),
                TuningOverrides.none());
        ChoiceTable pci = ChoiceTable.build(
                model(GpuShapes.withPeers(GpuShapes.of(RANKS, 1, 8, 12, PathType.PHB, 90), slow), true),
                TuningOverrides.none());
        for (Collective collective : new Collective[] {Collective.ALL_TO_ALL, Collective.SEND_RECV}) {
            assertThat(nvlink.choice(collective, 8).tryZeroCopy()).isFalse();
            assertThat(nvlink.choice(collective, 256 << 20).tryZeroCopy())
                    .as("%s", collective)
                    .isTrue();
            for (long bytes = 8; bytes <= 4L << 30; bytes *= 8) {
                assertThat(apart.choice(collective, bytes).tryZeroCopy()).isFalse();
                assertThat(pci.choice(collective, bytes).tryZeroCopy()).isFalse();
                Choice choice = nvlink.choice(collective, bytes);
                assertThat(nvlink.with(Map.of(collective, nvlink.packed(collective)))
                                .choice(collective, bytes))
                        .isEqualTo(choice);
            }
        }
    }

    /** Once copies pay, they pay for all larger sizes. */
    @Test
    void copiesPayFromOneSizeOn() {
        for (int ranks = 2; ranks <= 8; ranks++) {
            GpuShape shape = GpuShapes.withPeers(
                    GpuShapes.of(ranks, 1, 16, 20, PathType.NVL, 90), new PeerRates(400.0 / ranks, 60, 400, 24));
            ChoiceTable table = ChoiceTable.build(model(shape, true), TuningOverrides.none());
            for (Collective collective : new Collective[] {Collective.ALL_GATHER, Collective.ALL_TO_ALL}) {
                boolean before = false;
                for (long bytes = 1 << 10; bytes <= 4L << 30; bytes *= 2) {
                    boolean now = table.choice(collective, bytes).tryCopies();
                    assertThat(now || !before)
                            .as("%s ranks=%d bytes=%d", collective, ranks, bytes)
                            .isTrue();
                    before = now;
                }
                assertThat(before).isTrue();
            }
        }
    }
}
