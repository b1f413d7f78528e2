package io.jccl.tuning;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.DataType;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import io.jccl.WireFormat;
import io.jccl.planning.DoubleBinaryTree;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

public class ChoiceTableTest {

    private static final CommunicatorShape.SlotBytes SLOTS =
            new CommunicatorShape.SlotBytes(32 << 10, 122_880, 128 << 10);

    /**
     * Returns stored costs, so that tests do not depend on JCCL's built-in costs, which change when they are measured
     * again.
     */
    public static HostCosts fixedCosts() {
        try (Reader in = new InputStreamReader(
                ChoiceTableTest.class.getResourceAsStream("fixed-costs.properties"), StandardCharsets.UTF_8)) {
            return HostCosts.read(in, "fixed-costs.properties");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void twoRanksUseDirectForSmallSizesAndTheRingForLargeOnes() {
        ChoiceTable table = table(shape(2, 1, 2, 1), TuningOverrides.none());
        assertThat(table.choice(Collective.ALL_REDUCE, 8))
                .extracting(Choice::algorithm, Choice::protocol, Choice::tryZeroCopy)
                .containsExactly(Algorithm.DIRECT, Protocol.LL, false);
        assertThat(table.choice(Collective.ALL_REDUCE, 64 << 20))
                .extracting(Choice::algorithm, Choice::protocol, Choice::tryZeroCopy)
                .containsExactly(Algorithm.RING, Protocol.SIMPLE, true);
    }

    @Test
    void allCollectivesTryToWorkInPlaceExceptSendRecvBarrierAndScans() {
        ChoiceTable table = table(shape(4, 1, 4, 1), TuningOverrides.none());
        for (Collective collective : Collective.values()) {
            boolean moves =
                    switch (collective) {
                        case SEND_RECV, BARRIER, SCAN, EXSCAN -> false;
                        default -> true;
                    };
            assertThat(table.choice(collective, 1 << 20).tryZeroCopy())
                    .as(collective.label())
                    .isEqualTo(moves);
            assertThat(table.choice(collective, 64).tryZeroCopy())
                    .as(collective.label())
                    .isFalse();
        }
    }

    @Test
    void oversubscribedRanksStayDirectLonger() {
        long oversubscribed = directUpTo(table(shape(8, 1, 2, 1), TuningOverrides.none()));
        long coreEach = directUpTo(table(shape(8, 1, 64, 1), TuningOverrides.none()));
        assertThat(oversubscribed).isGreaterThanOrEqualTo(coreEach).isGreaterThan(16L << 10);
    }

    @Test
    void oversubscribedRanksLeaveDirectIfItsChunksCostMoreThanContextSwitches() {
        assertThat(directUpTo(table(shape(4, 1, 2, 1), TuningOverrides.none()))).isBetween(64L << 10, 256L << 10);
        assertThat(directUpTo(table(shape(8, 1, 2, 1), TuningOverrides.none()))).isBetween(64L << 10, 256L << 10);
    }

    private static long directUpTo(ChoiceTable table) {
        long bytes = 8;
        while (table.choice(Collective.ALL_REDUCE, bytes).algorithm() == Algorithm.DIRECT) {
            bytes *= 2;
        }
        return bytes;
    }

    @Test
    void everyChoiceCanBeExecuted() {
        Random random = new Random(5);
        for (int round = 0; round < 40; round++) {
            int hosts = 1 + random.nextInt(5);
            int local = 1 + random.nextInt(9);
            CommunicatorShape shape = shape(hosts * local, hosts, 1 + random.nextInt(16), 1 + random.nextInt(8));
            CostModel model = new CostModel(HostCosts.builtIn(), shape);
            ChoiceTable table = ChoiceTable.build(model, TuningOverrides.none());
            for (Collective collective : Collective.values()) {
                for (long bytes = 0; bytes < 1L << 40; bytes = bytes * 3 + 1) {
                    Choice choice = table.choice(collective, bytes);
                    assertThat(model.exists(collective, choice.algorithm())).isTrue();
                    assertThat(choice.channels()).isBetween(1, shape.channels());
                    assertThat(choice.chunkBytes()).isBetween(64, SLOTS.of(choice.protocol()));
                    assertThat(choice.chunkBytes() % 64).isZero();
                    assertThat(table.predictedMicros(collective, bytes))
                            .isPositive()
                            .isFinite();
                    assertThat(choice.tryZeroCopy() && hosts > 1).isFalse();
                }
            }
        }
    }

    @Test
    void noAllowedChoiceIsPredictedFasterAtATabulatedSize() {
        CommunicatorShape shape = shape(4, 1, 8, 2);
        CostModel model = new CostModel(HostCosts.builtIn(), shape);
        ChoiceTable table = ChoiceTable.build(model, TuningOverrides.none());
        for (long bytes = 8; bytes <= 128 << 10; bytes *= 2) {
            double chosen = table.predictedMicros(Collective.ALL_REDUCE, bytes);
            for (Algorithm algorithm : HostCosts.ALGORITHMS) {
                for (Protocol protocol : Protocol.values()) {
                    List<Choice> candidates =
                            model.candidates(Collective.ALL_REDUCE, algorithm, protocol, bytes, TuningOverrides.none());
                    for (Choice choice : candidates) {
                        assertThat(model.micros(Collective.ALL_REDUCE, choice, bytes))
                                .isGreaterThanOrEqualTo(chosen);
                    }
                }
            }
        }
    }

    @Test
    void predictedTimeGrowsWithTheSize() {
        for (int hosts : new int[] {1, 3}) {
            ChoiceTable table = table(shape(6, hosts, 4, 2), TuningOverrides.none());
            for (Collective collective : Collective.values()) {
                double before = 0;
                for (long bytes = 1; bytes <= 1L << 32; bytes *= 4) {
                    double now = table.predictedMicros(collective, bytes);
                    assertThat(now).as("%s %d", collective, bytes).isGreaterThanOrEqualTo(before * 0.999);
                    before = now;
                }
            }
        }
    }

    @Test
    void bucketsHoldEverySizeOnceAndStartAtPowersOfTwo() {
        for (long bytes = 0; bytes < 5000; bytes++) {
            int bucket = ChoiceTable.bucket(bytes);
            assertThat(ChoiceTable.smallestSize(bucket)).isLessThanOrEqualTo(bytes);
            assertThat(ChoiceTable.bucket(bytes + 1)).isGreaterThanOrEqualTo(bucket);
        }
        for (int octave = 0; octave < 44; octave++) {
            assertThat(ChoiceTable.smallestSize(ChoiceTable.bucket(1L << octave)))
                    .isEqualTo(1L << octave);
        }
        assertThat(ChoiceTable.bucket(Long.MAX_VALUE)).isEqualTo(ChoiceTable.bucket(1L << 44));
    }

    @Test
    void forcedAlgorithmAndProtocolAreUsedAtEverySize() {
        for (Algorithm algorithm : HostCosts.ALGORITHMS) {
            for (Protocol protocol : Protocol.values()) {
                TuningOverrides forced = TuningOverrides.of(algorithm.label(), protocol.label(), 0, 0, 0);
                ChoiceTable table = table(shape(3, 1, 4, 1), forced);
                for (long bytes = 0; bytes <= 1 << 28; bytes = bytes * 5 + 1) {
                    Choice choice = table.choice(Collective.ALL_REDUCE, bytes);
                    assertThat(choice.algorithm()).isEqualTo(algorithm);
                    assertThat(choice.protocol()).isEqualTo(protocol);
                    boolean inPlace = algorithm == Algorithm.DIRECT && protocol == Protocol.SIMPLE;
                    assertThat(choice.tryZeroCopy() && !inPlace).isFalse();
                }
            }
        }
    }

    @Test
    void aSettingThatCannotHoldForACollectiveIsNotedAndNotAppliedToIt() {
        ChoiceTable table = table(shape(4, 1, 4, 1), TuningOverrides.of("tree", null, 0, 0, 0));
        assertThat(table.choice(Collective.BROADCAST, 1024).algorithm()).isNotEqualTo(Algorithm.TREE);
        assertThat(table.notes()).anySatisfy(note -> assertThat(note).contains("JCCL_ALGO=tree: broadcast has only"));
    }

    @Test
    void aSettingThatNamesACollectiveMustHoldForIt() {
        CommunicatorShape shape = shape(4, 2, 4, 1);
        assertThatThrownBy(() -> table(shape, TuningOverrides.of("broadcast:tree", null, 0, 0, 0)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("JCCL_ALGO=broadcast:tree: broadcast has only [ring, direct]");
        assertThatThrownBy(() -> table(shape(66, 2, 33, 1), TuningOverrides.of("direct", null, 0, 0, 0)))
                .hasMessageContaining("JCCL_ALGO=direct: all_reduce has only [ring, tree]")
                .hasMessageContaining("hosts=2");
    }

    @Test
    void channelsAndChunkCanBeForced() {
        ChoiceTable table = table(shape(2, 1, 8, 4), TuningOverrides.of(null, null, 3, 3, 4096));
        Choice choice = table.choice(Collective.ALL_REDUCE, 1 << 20);
        assertThat(choice.channels()).isEqualTo(3);
        assertThat(choice.chunkBytes()).isEqualTo(4096);
    }

    @ParameterizedTest
    @CsvSource({
        "2, 65536, false",
        "4, 4096, false",
        "4, 8192, true",
        "4, 131072, true",
        "4, 262144, false",
        "8, 1024, false",
        "8, 4096, true"
    })
    void directAllReducesOfMediumSizeAreTwoShot(int ranks, long bytes, boolean twoShot) {
        CommunicatorShape shape = shape(ranks, 1, 64, 1);
        CostModel model = new CostModel(HostCosts.builtIn(), shape);
        assertThat(model.candidates(
                        Collective.ALL_REDUCE, Algorithm.DIRECT, Protocol.SIMPLE, bytes, TuningOverrides.none()))
                .isNotEmpty()
                .allMatch(choice -> choice.twoShot() == twoShot);
        CostModel network = new CostModel(HostCosts.builtIn(), shape.over(TransportKind.SOCKET));
        assertThat(network.candidates(
                        Collective.ALL_REDUCE, Algorithm.DIRECT, Protocol.SIMPLE, bytes, TuningOverrides.none()))
                .as("networks carry few large messages better than many small ones")
                .noneMatch(Choice::twoShot);
    }

    @Test
    void furtherChannelsWithACoreEachDivideTheTimePerByte() {
        CostModel model = new CostModel(fixedCosts(), shape(2, 1, 8, 4));
        assertThat(micros(model, 4) / micros(model, 1)).isCloseTo(1.0 / 4, within(0.02));
    }

    @Test
    void furtherChannelsWithoutACoreSaveNothing() {
        CostModel model = new CostModel(fixedCosts(), shape(2, 1, 2, 4));
        assertThat(micros(model, 4)).isGreaterThanOrEqualTo(micros(model, 1));
        ChoiceTable table = table(shape(4, 2, 2, 4), TuningOverrides.none());
        for (Collective collective : Collective.values()) {
            for (long bytes = 8; bytes <= 1 << 28; bytes *= 8) {
                assertThat(table.choice(collective, bytes).channels())
                        .as("%s of %d bytes", collective, bytes)
                        .isEqualTo(1);
            }
        }
    }

    @Test
    void furtherChannelsDoNotSpeedUpANetwork() {
        CostModel model = new CostModel(fixedCosts(), shape(2, 2, 8, 4));
        assertThat(micros(model, 4)).isGreaterThanOrEqualTo(micros(model, 1));
    }

    private static double micros(CostModel model, int channels) {
        Choice choice = new Choice(Algorithm.RING, Protocol.SIMPLE, channels, 64 << 10, false);
        return model.micros(Collective.BROADCAST, choice, 1 << 28);
    }

    /** Half of a rank's buffer goes to the other host, where each partner receives as much as it sends. */
    @ParameterizedTest
    @CsvSource({"2, 32768, true", "2, 262144, true", "2, 327680, false", "4, 262144, true", "1, 8, false"})
    void blocksOfAnAllToAllCrossHostsTogether(int localRanks, long bytes, boolean byHosts) {
        ChoiceTable table = table(shape(2 * localRanks, 2, 2 * localRanks, 1), TuningOverrides.none());
        Choice choice = table.choice(Collective.ALL_TO_ALL, bytes);
        assertThat(choice.byHosts()).as("%s", choice).isEqualTo(byHosts);
    }

    /** The engine sends each message of an all-to-all by shares as one chunk. */
    @Test
    void aMessageOfAnAllToAllBySharesIsOneChunk() {
        ChoiceTable table = table(shape(4, 2, 4, 1), TuningOverrides.none());
        Choice choice = table.choice(Collective.ALL_TO_ALL, 256 << 10);
        assertThat(choice.twoShot()).as("%s", choice).isTrue();
        assertThat(choice.chunkBytes()).isGreaterThanOrEqualTo(128 << 10);
        OperationCost cost = OperationCost.of(Collective.ALL_TO_ALL, choice, shape(4, 2, 4, 1), 256 << 10);
        assertThat(cost.netBytes()).isEqualTo(128 << 10);
        assertThat(cost.linkBytes()).isEqualTo(256 << 10);
        assertThat(cost.netHops()).isEqualTo(1);
    }

    /** Ranks that are alone on their hosts send less if each reduces a part than if each sends everything to all. */
    @ParameterizedTest
    @CsvSource({"4, 8, false", "4, 262144, true", "2, 262144, false"})
    void anAllReduceOfRanksThatAreAloneOnTheirHostsGoesByShares(int hosts, long bytes, boolean shares) {
        TuningOverrides direct = TuningOverrides.of("direct", "simple", 0, 0, 0);
        Choice choice = table(shape(hosts, hosts, 2, 1), direct).choice(Collective.ALL_REDUCE, bytes);
        assertThat(choice.byHosts() && choice.twoShot()).as("%s", choice).isEqualTo(shares);
    }

    @ParameterizedTest
    @CsvSource({"ALL_REDUCE, 1, 0", "BROADCAST, 1, 1024", "ALL_GATHER, 2, 0", "REDUCE_SCATTER, 2, 0"})
    void leadersOfHostsSendEachOtherOnlyWhatTheOtherHostLacks(Collective collective, int hostShares, int lastChunk) {
        long bytes = 32 << 10;
        Choice leaders = new Choice(Algorithm.DIRECT, Protocol.SIMPLE, 1, 1024, false, false, true);
        OperationCost cost = OperationCost.of(collective, leaders, shape(8, 2, 4, 1), bytes);
        assertThat(cost.netBytes()).isEqualTo((double) bytes / hostShares);
        assertThat(cost.bytes() - cost.netBytes()).as("bytes for the 3 members").isEqualTo(3.0 * (bytes + lastChunk));
    }

    /** In both directions of an all-reduce a link carries what the other hosts lack. */
    @ParameterizedTest
    @CsvSource({"ALL_GATHER, 1", "REDUCE_SCATTER, 1", "ALL_REDUCE, 2"})
    void sharesCrossEachLinkOnceAndAreEqual(Collective collective, int passes) {
        double bytes = 96 << 10;
        Choice shares = new Choice(Algorithm.DIRECT, Protocol.SIMPLE, 1, 1 << 20, false, true, true);
        OperationCost cost = OperationCost.of(collective, shares, shape(12, 3, 4, 1), bytes);
        assertThat(cost.linkBytes()).isCloseTo(passes * bytes * 2 / 3, within(1e-6));
        assertThat(cost.netBytes()).isCloseTo(cost.linkBytes() / 4, within(1e-6));
        assertThat(cost.bytes() - cost.netBytes())
                .as("bytes for the 3 other ranks of the host")
                .isCloseTo(passes * bytes * 3 / 4, within(1e-6));
        assertThat(cost.netHops()).as("two partners").isEqualTo(passes * 1.5);
    }

    @ParameterizedTest
    @CsvSource({
        "ALL_GATHER, 4096, true",
        "ALL_GATHER, 262144, true",
        "REDUCE_SCATTER, 262144, true",
        "ALL_REDUCE, 8, false",
        "ALL_REDUCE, 262144, true",
        "BROADCAST, 262144, false"
    })
    void largerDataCrossesHostsByShares(Collective collective, long bytes, boolean shares) {
        Choice choice = table(shape(8, 2, 8, 1), TuningOverrides.none()).choice(collective, bytes);
        assertThat(choice.byHosts() && choice.twoShot()).as("%s", choice).isEqualTo(shares);
    }

    @Test
    void leadersSendFewerMessagesForRanksThatShareCores() {
        ChoiceTable table = table(shape(16, 2, 1, 1), TuningOverrides.none());
        Choice choice = table.choice(Collective.ALL_GATHER, 64);
        assertThat(choice.byHosts()).isTrue();
        assertThat(choice.twoShot()).isFalse();
    }

    /** Rounds take fewer messages, which are worth further hops if many messages would take turns on a core. */
    @ParameterizedTest
    @CsvSource({
        "ALL_REDUCE, 8, 4, 1, false",
        "ALL_REDUCE, 8, 16, 1, true",
        "ALL_REDUCE, 8, 4, 2, true",
        "ALL_REDUCE, 65536, 4, 2, true",
        "BARRIER, 8, 16, 1, true",
        "BROADCAST, 8, 4, 1, false",
        "BROADCAST, 8, 4, 2, true",
        "ALL_GATHER, 64, 4, 2, true",
        "ALL_GATHER, 64, 2, 2, false",
        "REDUCE_SCATTER, 64, 16, 1, true",
        "ALL_TO_ALL, 64, 16, 2, false"
    })
    void leadersOfManyHostsExchangeSmallDataInRounds(
            Collective collective, long bytes, int hosts, double hostsPerCore, boolean inRounds) {
        for (int localRanks : List.of(1, 2)) {
            CommunicatorShape shape = sharingCores(shape(hosts * localRanks, hosts, 2, 1), hostsPerCore);
            Choice choice = table(shape, TuningOverrides.of("direct", "simple", 0, 0, 0))
                    .choice(collective, bytes);
            assertThat(choice.inRounds())
                    .as("localRanks=%d %s", localRanks, choice)
                    .isEqualTo(inRounds);
        }
    }

    /** If the number of hosts is not a power of two, some hosts hand over their data first, and get the result last. */
    @ParameterizedTest
    @CsvSource({"ALL_REDUCE, 4, 2, 2", "ALL_REDUCE, 5, 4, 4", "ALL_GATHER, 4, 2, 0.75", "BROADCAST, 5, 3, 3"})
    void roundsSendAsMuchAsTheBusiestLeader(Collective collective, int hosts, double hops, double share) {
        Choice choice = new Choice(Algorithm.DIRECT, Protocol.SIMPLE, 1, 1 << 20, false, false, true, false, true);
        OperationCost cost = OperationCost.of(collective, choice, shape(hosts, hosts, 1, 1), 4096);
        assertThat(cost.netHops()).isEqualTo(hops);
        assertThat(cost.netBytes()).isEqualTo(share * 4096);
    }

    private static CommunicatorShape sharingCores(CommunicatorShape shape, double hostsPerCore) {
        return new CommunicatorShape(
                shape.ranks(),
                shape.hosts(),
                shape.localRanks(),
                shape.cores(),
                shape.channels(),
                shape.treeDepth(),
                shape.localTransport(),
                shape.netGBps(),
                shape.slots(),
                hostsPerCore);
    }

    /** Each message between hosts costs its sender system calls, whatever its size. */
    @Test
    void chunksBetweenHostsAreNotSmall() {
        CostModel model = new CostModel(HostCosts.builtIn(), shape(4, 2, 2, 1));
        for (Algorithm algorithm : List.of(Algorithm.RING, Algorithm.DIRECT)) {
            assertThat(model.candidates(
                            Collective.BROADCAST, algorithm, Protocol.SIMPLE, 1 << 20, TuningOverrides.none()))
                    .as("a broadcast of 1 MiB with %s", algorithm)
                    .isNotEmpty()
                    .allMatch(choice -> choice.chunkBytes() >= 32 << 10);
        }
    }

    @Test
    void aTableTakesAnyFormThatItCompares() {
        CommunicatorShape shape = shape(8, 2, 8, 1);
        CostModel model = new CostModel(fixedCosts(), shape);
        ChoiceTable table = ChoiceTable.build(model, TuningOverrides.none());
        long bytes = 1024;
        List<Choice> forms = model.candidates(
                Collective.ALL_GATHER, Algorithm.DIRECT, Protocol.SIMPLE, bytes, TuningOverrides.none());
        assertThat(forms).extracting(Choice::twoShot).containsExactlyInAnyOrder(true, false);
        for (Choice form : forms) {
            long[] packed = table.packed(Collective.ALL_GATHER).clone();
            packed[ChoiceTable.bucket(bytes)] = form.pack();
            ChoiceTable changed = table.with(Map.of(Collective.ALL_GATHER, packed));
            assertThat(changed.choice(Collective.ALL_GATHER, bytes)).isEqualTo(form);
        }
    }

    @Test
    void packingKeepsEveryPart() {
        for (Algorithm algorithm : Algorithm.values()) {
            for (Protocol protocol : Protocol.values()) {
                for (int channels : List.of(1, 7, 255)) {
                    for (int chunk : List.of(1, 32 << 10, Integer.MAX_VALUE)) {
                        Choice choice = new Choice(
                                algorithm, protocol, channels, chunk, channels == 7, chunk % 3 == 0, chunk % 5 == 0);
                        assertThat(Choice.unpack(choice.pack())).isEqualTo(choice);
                    }
                }
            }
        }
        long packed = new Choice(Algorithm.TREE, Protocol.SIMPLE, 3, 0x8000, true).pack();
        assertThat(packed).isEqualTo(0x0000_8000_0001_0321L);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "ring | ALL_REDUCE | ring",
                "Ring,TREE | ALL_REDUCE | ring tree",
                "^tree,collnet | ALL_REDUCE | ring direct nvls",
                "CollnetDirect | ALL_REDUCE | collnet_direct",
                "collnet_chain,ring | ALL_REDUCE | ring collnet_chain",
                "collnet | ALL_REDUCE | collnet_direct collnet_chain",
                "^ring,tree,nvls,collnet | BROADCAST | direct",
                "auto | ALL_REDUCE | ring tree direct nvls collnet_direct collnet_chain",
                "'' | ALL_REDUCE | ring tree direct nvls collnet_direct collnet_chain",
                "ring;allreduce:tree | ALL_REDUCE | tree",
                "ring;allreduce:tree | BROADCAST | ring",
                "all_gather:^direct | ALL_GATHER | ring tree nvls collnet_direct collnet_chain",
                "all_gather:^direct | ALL_REDUCE | ring tree direct nvls collnet_direct collnet_chain",
            })
    void settingsFollowNcclSyntax(String text, Collective collective, String allowed) {
        Selection<Algorithm> selection = Selection.parse(Algorithm.class, "JCCL_ALGO", text);
        List<String> labels = List.of(allowed.split(" "));
        for (Algorithm algorithm : Algorithm.values()) {
            assertThat(selection.allows(collective, algorithm)).isEqualTo(labels.contains(algorithm.label()));
        }
        assertThat(selection.allowsAll(collective)).isEqualTo(labels.size() == 6);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "rign | unknown name='rign'; expected ring, tree, direct, nvls, collnet_direct, collnet_chain",
                "ring, | unknown name=''",
                "^ring,tree,direct,nvls,collnet | leaves nothing",
                "foo:ring | unknown collective='foo'",
                "^ | unknown name=''",
            })
    void badSettingsAreQuoted(String text, String expected) {
        assertThatThrownBy(() -> Selection.parse(Algorithm.class, "JCCL_ALGO", text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("JCCL_ALGO=" + text)
                .hasMessageContaining(expected);
    }

    @Test
    void aSingleRankNeedsNoPartner() {
        ChoiceTable table = table(shape(1, 1, 1, 1), TuningOverrides.none());
        for (Collective collective : Collective.values()) {
            assertThat(table.predictedMicros(collective, 1 << 20)).isPositive();
        }
    }

    private static ChoiceTable table(CommunicatorShape shape, TuningOverrides overrides) {
        return ChoiceTable.build(new CostModel(fixedCosts(), shape), overrides);
    }

    @ParameterizedTest
    @CsvSource({"BFLOAT16, FLOAT32, 0.5", "FLOAT16, FLOAT64, 0.25", "INT8_BLOCK, FLOAT32, 0.2578125"})
    void formatsAreChosenForByTheBytesThatCrossHosts(WireFormat.Encoding encoding, DataType type, double share) {
        ChoiceTable exact = table(shape(8, 4, 4, 2), TuningOverrides.none());
        FormatChoices formats = new FormatChoices(exact);
        ChoiceTable narrowed = formats.of(encoding, type);
        assertThat(formats.of(encoding, type)).isSameAs(narrowed);
        assertThat(formats.of(WireFormat.Encoding.EXACT, type)).isSameAs(exact);
        assertThat(FormatChoices.share(encoding, type)).isEqualTo(share);
        int faster = 0;
        for (long bytes = 8; bytes <= 256 << 20; bytes *= 2) {
            Choice choice = narrowed.choice(Collective.ALL_REDUCE, bytes);
            assertThat(choice.protocol()).as("bytes=%d", bytes).isEqualTo(Protocol.SIMPLE);
            // The engine executes a narrowed operation with SIMPLE, whatever was chosen.
            Choice exactly = exact.choice(Collective.ALL_REDUCE, bytes);
            Choice before = new Choice(
                    exactly.algorithm(),
                    Protocol.SIMPLE,
                    exactly.channels(),
                    exactly.chunkBytes(),
                    exactly.tryZeroCopy(),
                    exactly.twoShot(),
                    exactly.byHosts());
            double micros = narrowed.micros(Collective.ALL_REDUCE, choice, bytes);
            faster += micros < narrowed.micros(Collective.ALL_REDUCE, before, bytes) ? 1 : 0;
        }
        assertThat(faster).as("sizes with a better choice").isPositive();
        long large = 256 << 20;
        Choice ring = exact.choice(Collective.ALL_REDUCE, large);
        assertThat(narrowed.micros(Collective.ALL_REDUCE, ring, large))
                .isLessThan(exact.micros(Collective.ALL_REDUCE, ring, large));
    }

    @Test
    void withinAHostFormatsChangeNoChoice() {
        ChoiceTable exact = table(shape(4, 1, 4, 1), TuningOverrides.none());
        assertThat(new FormatChoices(exact).of(WireFormat.Encoding.INT8_BLOCK, DataType.FLOAT32))
                .isSameAs(exact);
    }

    @Test
    void settingsThatNarrowedOperationsCannotObeyAreReplacedAsTheEngineDoes() {
        TuningOverrides overrides = TuningOverrides.of("tree", "ll", 0, 0, 0);
        ChoiceTable narrowed = new FormatChoices(table(shape(4, 2, 4, 1), overrides))
                .of(WireFormat.Encoding.BFLOAT16, DataType.FLOAT32);
        assertThat(narrowed.choice(Collective.ALL_REDUCE, 1 << 20))
                .extracting(Choice::algorithm, Choice::protocol)
                .containsExactly(Algorithm.TREE, Protocol.SIMPLE);
    }

    @Test
    void choicesOfATunerStayForFormats() {
        ChoiceTable exact = table(shape(8, 4, 4, 2), TuningOverrides.none());
        long[] tuned = exact.packed(Collective.ALL_REDUCE).clone();
        int bucket = ChoiceTable.bucket(64 << 20);
        Choice tree = exact.best(
                Collective.ALL_REDUCE,
                new ChoiceTable.Candidate(Algorithm.TREE, Protocol.LL128),
                64 << 20,
                TuningOverrides.none());
        tuned[bucket] = tree.pack();
        ChoiceTable narrowed = new FormatChoices(exact.with(Map.of(Collective.ALL_REDUCE, tuned)))
                .of(WireFormat.Encoding.INT8_BLOCK, DataType.FLOAT32);
        assertThat(narrowed.choice(Collective.ALL_REDUCE, 64 << 20)).isEqualTo(tree);
        assertThat(narrowed.choice(Collective.ALL_REDUCE, 8).protocol()).isEqualTo(Protocol.SIMPLE);
    }

    @Test
    void ranksConnectedBySocketsSaveAHopAndShareNoBuffers() {
        CommunicatorShape local = shape(2, 1, 2, 1);
        CommunicatorShape sockets =
                new CommunicatorShape(2, 1, 2, 2, 1, local.treeDepth(), TransportKind.SOCKET, 1.25, SLOTS);
        ChoiceTable table = table(sockets, TuningOverrides.none());
        assertThat(table.choice(Collective.ALL_REDUCE, 8).algorithm()).isEqualTo(Algorithm.DIRECT);
        for (long bytes = 8; bytes <= 1 << 28; bytes *= 8) {
            Choice choice = table.choice(Collective.ALL_REDUCE, bytes);
            assertThat(choice.tryZeroCopy()).isFalse();
        }
    }

    @Test
    void theDepthOfTreesOverHostsIsThatOfTheDoubleBinaryTree() {
        for (int hosts = 1; hosts < 200; hosts++) {
            DoubleBinaryTree tree = new DoubleBinaryTree(hosts);
            int deepest = IntStream.range(0, hosts)
                    .map(member -> tree.depth(0, member))
                    .max()
                    .orElseThrow();
            assertThat(CommunicatorShape.treeDepthOver(hosts)).isEqualTo(deepest);
        }
    }

    static CommunicatorShape shape(int ranks, int hosts, int cores, int channels) {
        return new CommunicatorShape(
                ranks,
                hosts,
                ranks / hosts,
                cores,
                channels,
                CommunicatorShape.treeDepthOver(hosts) + ranks / hosts - 1,
                TransportKind.SHM,
                1.25,
                SLOTS);
    }
}
