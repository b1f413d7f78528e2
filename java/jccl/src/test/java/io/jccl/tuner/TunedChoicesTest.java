package io.jccl.tuner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.JcclException;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import io.jccl.tuning.Choice;
import io.jccl.tuning.ChoiceTable;
import io.jccl.tuning.ChoiceTableTest;
import io.jccl.tuning.CommunicatorShape;
import io.jccl.tuning.CostModel;
import io.jccl.tuning.DeviceModel;
import io.jccl.tuning.GpuShape;
import io.jccl.tuning.TuningOverrides;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class TunedChoicesTest {

    private static final int RING_SIMPLE = 5;
    private static final int PAT_SIMPLE = 20;
    private static final long MIB = 1 << 20;

    /** A tuner that records the questions that it is asked. */
    private static class Questions implements Tuner {

        final List<Long> sizes = new ArrayList<>();
        final TreeSet<Integer> functions = new TreeSet<>();
        float[] last = {};

        @Override
        public int ask(int function, long bytes, float[] costs) {
            functions.add(function);
            last = costs.clone();
            if (function == Tuner.function(Collective.ALL_REDUCE)) {
                sizes.add(bytes);
            }
            return answer(function, bytes, costs);
        }

        int answer(int function, long bytes, float[] costs) {
            return 0;
        }

        @Override
        public long askChunk(int function, long bytes, int algorithm, int protocol, int channels, long chunkBytes) {
            return chunkBytes;
        }
    }

    /** Returns a tuner that sets one entry of the cost table for all-reduces. */
    private static Questions setting(int entry, float cost, int channels) {
        return new Questions() {
            @Override
            int answer(int function, long bytes, float[] costs) {
                if (function != Tuner.function(Collective.ALL_REDUCE)) {
                    return 0;
                }
                costs[entry] = cost;
                return channels;
            }
        };
    }

    private static ChoiceTable table(int channels, TuningOverrides overrides) {
        CommunicatorShape.SlotBytes slots = new CommunicatorShape.SlotBytes(32 << 10, 122_880, 128 << 10);
        CommunicatorShape shape =
                new CommunicatorShape(4, 1, 4, 8, channels, 2, TransportKind.P2P, Double.POSITIVE_INFINITY, slots);
        return ChoiceTable.build(new CostModel(ChoiceTableTest.fixedCosts(), shape), overrides);
    }

    private static ChoiceTable table() {
        return table(4, TuningOverrides.none());
    }

    private static ChoiceTable tuned(ChoiceTable table, Tuner tuner) {
        return table.with(TunedChoices.ask(table, tuner).changed());
    }

    @Test
    void aTunerThatChangesNoCostChangesNoChoice() {
        TunedChoices asked = TunedChoices.ask(table(), new Questions());
        assertThat(asked.changed()).isEmpty();
        assertThat(asked.changes()).isEmpty();
        assertThat(asked.problems()).isEmpty();
    }

    @Test
    void theTunerIsAskedAboutNcclsCollectivesAtTheFirstSizeOfEachBucket() {
        Questions tuner = new Questions();
        TunedChoices.ask(table(), tuner);
        assertThat(tuner.functions).containsExactly(0, 1, 2, 3, 4);
        assertThat(tuner.sizes).startsWith(1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, 10L, 12L, 14L, 16L, 20L);
        assertThat(tuner.sizes)
                .doesNotHaveDuplicates()
                .contains(MIB, MIB * 5 / 4, 1L << 30)
                .isSorted();
    }

    @Test
    void entriesThatCannotBeExecutedOrAreForbiddenAreIgnored() {
        Questions tuner = new Questions();
        TunedChoices.ask(table(4, TuningOverrides.of("ring", "simple,ll", 0, 0, 0)), tuner);
        for (int entry = 0; entry < tuner.last.length; entry++) {
            boolean exists = entry == RING_SIMPLE || entry == 3;
            assertThat(tuner.last[entry]).as(Tuner.describe(entry)).satisfies(cost -> assertThat(cost == Tuner.IGNORED)
                    .isNotEqualTo(exists));
        }
    }

    @Test
    void anEntryThatCostsNothingWinsAlsoOverTheUseOfBuffersInPlace() {
        ChoiceTable table = table();
        assertThat(table.choice(Collective.ALL_REDUCE, 64).algorithm()).isEqualTo(Algorithm.DIRECT);
        assertThat(table.choice(Collective.ALL_REDUCE, MIB).tryZeroCopy()).isTrue();
        ChoiceTable tuned = tuned(table, setting(RING_SIMPLE, 0, 2));
        for (long bytes : new long[] {1, 64, 5000, MIB, 1L << 33}) {
            assertThat(tuned.choice(Collective.ALL_REDUCE, bytes))
                    .as("bytes=%d", bytes)
                    .extracting(Choice::algorithm, Choice::protocol, Choice::channels, Choice::tryZeroCopy)
                    .containsExactly(Algorithm.RING, Protocol.SIMPLE, 2, false);
            assertThat(tuned.choice(Collective.REDUCE, bytes)).isEqualTo(table.choice(Collective.REDUCE, bytes));
        }
        assertThat(tuned.choice(Collective.ALL_REDUCE, 0)).isEqualTo(table.choice(Collective.ALL_REDUCE, 0));
    }

    @Test
    void changesAreDescribedByOneLineForEachCollectiveWithRangesOfSizes() {
        Questions tuner = new Questions() {
            @Override
            int answer(int function, long bytes, float[] costs) {
                if (bytes >= 1024 && bytes < 4096) {
                    costs[RING_SIMPLE] = 0;
                }
                return 0;
            }
        };
        assertThat(TunedChoices.ask(table(), tuner).changes())
                .hasSize(5)
                .allSatisfy(line -> assertThat(line).contains("from 1024 to ").contains(" -> ring/simple channels="));
    }

    @Test
    void theDirectAlgorithmCompetesWithItsPredictedTime() {
        ChoiceTable table = table();
        double direct = table.predictedMicros(Collective.ALL_REDUCE, 64);
        assertThat(tuned(table, setting(RING_SIMPLE, (float) (direct * 1.01), 0))
                        .choice(Collective.ALL_REDUCE, 64)
                        .algorithm())
                .isEqualTo(Algorithm.DIRECT);
        assertThat(tuned(table, setting(RING_SIMPLE, (float) (direct * 0.99), 0))
                        .choice(Collective.ALL_REDUCE, 64)
                        .algorithm())
                .isEqualTo(Algorithm.RING);
    }

    @Test
    void anEntryThatTheTunerMarksAsIgnoredIsNotChosen() {
        ChoiceTable table = table(4, TuningOverrides.of("ring", null, 0, 0, 0));
        assertThat(table.choice(Collective.ALL_REDUCE, 1L << 28).protocol()).isEqualTo(Protocol.SIMPLE);
        assertThat(tuned(table, setting(RING_SIMPLE, Tuner.IGNORED, 0))
                        .choice(Collective.ALL_REDUCE, 1L << 28)
                        .protocol())
                .isNotEqualTo(Protocol.SIMPLE);
    }

    @ParameterizedTest
    @ValueSource(floats = {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY, -3, -0.5f})
    void costsThatAreNoTimesAreRefused(float cost) {
        TunedChoices asked = TunedChoices.ask(table(), setting(RING_SIMPLE, cost, 1));
        assertThat(asked.changed()).isEmpty();
        assertThat(asked.problems())
                .singleElement()
                .asString()
                .startsWith("all_reduce bytes=1: the cost of ring/simple is " + cost
                        + ", expected microseconds, or -1 to ignore it; JCCL's choice is kept, as for ");
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 65, 1000, Integer.MIN_VALUE})
    void channelsOutOfRangeAreRefused(int channels) {
        TunedChoices asked = TunedChoices.ask(table(), setting(RING_SIMPLE, 0, channels));
        assertThat(asked.changed()).isEmpty();
        assertThat(asked.problems())
                .singleElement()
                .asString()
                .contains("channels=" + channels + ", expected 1 to 64, or 0 to leave that open");
    }

    @Test
    void anEntryThatCannotBeExecutedIsRefusedIfItIsPreferred() {
        TunedChoices preferred = TunedChoices.ask(table(), setting(PAT_SIMPLE, 0, 0));
        assertThat(preferred.changed()).isEmpty();
        assertThat(preferred.problems())
                .singleElement()
                .asString()
                .contains("prefers pat/simple, which this communicator cannot execute or a setting forbids");
        TunedChoices priced = TunedChoices.ask(table(), setting(PAT_SIMPLE, 1e30f, 0));
        assertThat(priced.problems()).isEmpty();
        assertThat(priced.changed()).isEmpty();
    }

    @Test
    void aTunerThatLeavesNoEntryOrFailsIsRefused() {
        ChoiceTable rings = table(4, TuningOverrides.of("ring", "simple", 0, 0, 0));
        assertThat(TunedChoices.ask(rings, setting(RING_SIMPLE, Tuner.IGNORED, 0))
                        .problems())
                .singleElement()
                .asString()
                .contains("leaves no algorithm and protocol that can be executed");
        Questions fails = new Questions() {
            @Override
            int answer(int function, long bytes, float[] costs) {
                throw new JcclException("returned 3");
            }
        };
        TunedChoices failed = TunedChoices.ask(table(), fails);
        assertThat(failed.problems()).hasSize(5).allSatisfy(line -> assertThat(line)
                .contains("returned 3"));
        assertThat(failed.changed()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"1, 0, 0, 1", "3, 0, 0, 3", "40, 0, 0, 4", "4, 0, 2, 2", "1, 2, 0, 2"})
    void theChannelsOfTheTunerAreUsedWithinThePlanAndTheSettings(int asked, int min, int max, int got) {
        ChoiceTable table = table(4, TuningOverrides.of(null, null, min, max, 0));
        assertThat(tuned(table, setting(RING_SIMPLE, 0, asked))
                        .choice(Collective.ALL_REDUCE, MIB)
                        .channels())
                .isEqualTo(got);
    }

    @ParameterizedTest
    @CsvSource({"4096, 4096", "1, 64", "5000, 4992", "9999999999, 131072"})
    void theChunkOfTheTunerIsUsedInWholeLinesThatFitASlot(long asked, int got) {
        assertThat(tuned(table(), chunk(asked))
                        .choice(Collective.ALL_REDUCE, MIB)
                        .chunkBytes())
                .isEqualTo(got);
    }

    @Test
    void aChunkOfNoBytesIsRefusedAndOneThatASettingFixesIsNotAskedAbout() {
        assertThat(TunedChoices.ask(table(), chunk(0)).problems())
                .singleElement()
                .asString()
                .contains("a step of chunkSize=0 bytes, expected 1 or more");
        ChoiceTable fixed = table(4, TuningOverrides.of(null, null, 0, 0, 8192));
        assertThat(tuned(fixed, chunk(4096)).choice(Collective.ALL_REDUCE, MIB).chunkBytes())
                .isEqualTo(8192);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void tablesOfGpusAreTunedInTheSameWay(boolean inPlace) {
        CommunicatorShape.SlotBytes slots = new CommunicatorShape.SlotBytes(32 << 10, 122_880, 128 << 10);
        TuningOverrides none = TuningOverrides.none();
        GpuShape shape = DeviceModel.assumedShape(4, 1, 4, 8, 2, 1, 90, 90, slots);
        ChoiceTable table =
                ChoiceTable.build(new DeviceModel(shape, 1, inPlace, EnumSet.allOf(Protocol.class), none), none);
        Questions silent = new Questions();
        assertThat(TunedChoices.ask(table, silent).changed()).isEmpty();
        assertThat(silent.last[RING_SIMPLE]).isPositive();
        ChoiceTable tuned = tuned(table, setting(RING_SIMPLE, 0, 3));
        for (long bytes : new long[] {64, MIB, 1L << 30}) {
            assertThat(tuned.choice(Collective.ALL_REDUCE, bytes))
                    .extracting(Choice::algorithm, Choice::protocol, Choice::channels, Choice::tryZeroCopy)
                    .containsExactly(Algorithm.RING, Protocol.SIMPLE, 3, false);
        }
    }

    private static Tuner chunk(long bytesOfStep) {
        Questions ring = setting(RING_SIMPLE, 0, 1);
        return new Tuner() {
            @Override
            public int ask(int function, long bytes, float[] costs) {
                return ring.ask(function, bytes, costs);
            }

            @Override
            public long askChunk(int function, long bytes, int algorithm, int protocol, int channels, long chunkBytes) {
                return function == Tuner.function(Collective.ALL_REDUCE) ? bytesOfStep : chunkBytes;
            }
        };
    }

    @ParameterizedTest
    @EnumSource(
            value = Collective.class,
            names = {"ALL_REDUCE", "BROADCAST", "REDUCE_SCATTER"})
    void choicesThatThisCommunicatorDoesNotHaveAreRefused(Collective collective) {
        ChoiceTable table = table(2, TuningOverrides.of("ring", null, 0, 0, 0));
        for (Choice wrong : List.of(
                new Choice(Algorithm.NVLS, Protocol.SIMPLE, 1, 4096, false),
                new Choice(Algorithm.DIRECT, Protocol.SIMPLE, 1, 4096, false),
                new Choice(Algorithm.RING, Protocol.SIMPLE, 3, 4096, false),
                new Choice(Algorithm.RING, Protocol.SIMPLE, 1, 1 << 20, false),
                new Choice(Algorithm.RING, Protocol.SIMPLE, 1, 4096, false, true, true))) {
            long[] packed = table.packed(collective).clone();
            packed[50] = wrong.pack();
            assertThatThrownBy(() -> table.with(Map.of(collective, packed)))
                    .as(wrong.toString())
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining(collective.label() + " bytes=")
                    .hasMessageContaining("no such choice with ranks=4");
        }
        assertThatThrownBy(() -> table.with(Map.of(collective, new long[3])))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("choices=3");
        long[] garbage = table.packed(collective).clone();
        garbage[50] = -1;
        assertThatThrownBy(() -> table.with(Map.of(collective, garbage))).isInstanceOf(IllegalArgumentException.class);
    }
}
