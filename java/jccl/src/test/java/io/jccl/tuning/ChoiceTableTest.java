package io.jccl.tuning;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import io.jccl.plan.DoubleBinaryTree;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ChoiceTableTest {

    private static final CommunicatorShape.SlotBytes SLOTS =
            new CommunicatorShape.SlotBytes(32 << 10, 122_880, 128 << 10);

    /** Costs that stay when the built-in ones are measured again. */
    static HostCosts fixedCosts() {
        try (Reader in = new InputStreamReader(
                ChoiceTableTest.class.getResourceAsStream("fixed-costs.properties"), StandardCharsets.UTF_8)) {
            return HostCosts.read(in, "fixed-costs.properties");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void two_ranks_start_direct_and_end_in_the_ring() {
        ChoiceTable table = table(shape(2, 1, 2, 1), TuningOverrides.none());
        assertThat(table.choice(Collective.ALL_REDUCE, 8))
                .extracting(Choice::algorithm, Choice::protocol, Choice::tryZeroCopy)
                .containsExactly(Algorithm.DIRECT, Protocol.LL, false);
        assertThat(table.choice(Collective.ALL_REDUCE, 64 << 20))
                .extracting(Choice::algorithm, Choice::protocol, Choice::tryZeroCopy)
                .containsExactly(Algorithm.RING, Protocol.SIMPLE, true);
    }

    @Test
    void oversubscribed_ranks_stay_direct_longer() {
        long oversubscribed = directUpTo(table(shape(8, 1, 2, 1), TuningOverrides.none()));
        long coreEach = directUpTo(table(shape(8, 1, 64, 1), TuningOverrides.none()));
        assertThat(oversubscribed).isGreaterThanOrEqualTo(coreEach).isGreaterThan(16L << 10);
    }

    @Test
    void oversubscribed_ranks_leave_direct_where_its_chunks_cost_more_than_context_switches() {
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
    void every_choice_can_be_executed() {
        Random random = new Random(5);
        for (int round = 0; round < 40; round++) {
            int machines = 1 + random.nextInt(5);
            int local = 1 + random.nextInt(9);
            CommunicatorShape shape = shape(machines * local, machines, 1 + random.nextInt(16), 1 + random.nextInt(8));
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
                    assertThat(choice.tryZeroCopy() && machines > 1).isFalse();
                }
            }
        }
    }

    @Test
    void no_allowed_choice_is_predicted_faster_at_a_tabulated_size() {
        CommunicatorShape shape = shape(4, 1, 8, 2);
        CostModel model = new CostModel(HostCosts.builtIn(), shape);
        ChoiceTable table = ChoiceTable.build(model, TuningOverrides.none());
        for (long bytes = 8; bytes <= 128 << 10; bytes *= 2) {
            double chosen = table.predictedMicros(Collective.ALL_REDUCE, bytes);
            for (Algorithm algorithm : Algorithm.values()) {
                for (Protocol protocol : Protocol.values()) {
                    int chunk = model.bestChunk(Collective.ALL_REDUCE, algorithm, protocol, bytes, 1);
                    assertThat(model.micros(Collective.ALL_REDUCE, algorithm, protocol, bytes, 1, chunk))
                            .isGreaterThanOrEqualTo(chosen);
                }
            }
        }
    }

    @Test
    void predicted_time_grows_with_the_size() {
        for (int machines : new int[] {1, 3}) {
            ChoiceTable table = table(shape(6, machines, 4, 2), TuningOverrides.none());
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
    void buckets_hold_every_size_once_and_start_at_powers_of_two() {
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
    void forced_algorithm_and_protocol_are_used_at_every_size() {
        for (Algorithm algorithm : Algorithm.values()) {
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
    void a_setting_that_cannot_hold_for_a_collective_is_noted_and_not_applied_to_it() {
        ChoiceTable table = table(shape(4, 1, 4, 1), TuningOverrides.of("tree", null, 0, 0, 0));
        assertThat(table.choice(Collective.BROADCAST, 1024).algorithm()).isNotEqualTo(Algorithm.TREE);
        assertThat(table.notes()).anySatisfy(note -> assertThat(note).contains("JCCL_ALGO=tree: broadcast has only"));
    }

    @Test
    void a_setting_that_names_a_collective_must_hold_for_it() {
        CommunicatorShape shape = shape(4, 2, 4, 1);
        assertThatThrownBy(() -> table(shape, TuningOverrides.of("broadcast:tree", null, 0, 0, 0)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("JCCL_ALGO=broadcast:tree: broadcast has only [ring, direct]");
        assertThatThrownBy(() -> table(shape(66, 2, 33, 1), TuningOverrides.of("direct", null, 0, 0, 0)))
                .hasMessageContaining("JCCL_ALGO=direct: all_reduce has only [ring, tree]")
                .hasMessageContaining("machines=2");
    }

    @Test
    void channels_and_chunk_can_be_forced() {
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
    void direct_all_reduces_of_medium_size_are_two_shot(int ranks, long bytes, boolean twoShot) {
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
    void packing_keeps_every_part() {
        for (Algorithm algorithm : Algorithm.values()) {
            for (Protocol protocol : Protocol.values()) {
                for (int channels : List.of(1, 7, 255)) {
                    for (int chunk : List.of(1, 32 << 10, Integer.MAX_VALUE)) {
                        Choice choice = new Choice(algorithm, protocol, channels, chunk, channels == 7, chunk % 3 == 0);
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
                "^tree | ALL_REDUCE | ring direct",
                "^ring,tree | BROADCAST | direct",
                "auto | ALL_REDUCE | ring tree direct",
                "'' | ALL_REDUCE | ring tree direct",
                "ring;allreduce:tree | ALL_REDUCE | tree",
                "ring;allreduce:tree | BROADCAST | ring",
                "all_gather:^direct | ALL_GATHER | ring tree",
                "all_gather:^direct | ALL_REDUCE | ring tree direct",
            })
    void settings_follow_nccl_syntax(String text, Collective collective, String allowed) {
        Selection<Algorithm> selection = Selection.parse(Algorithm.class, "JCCL_ALGO", text);
        List<String> labels = List.of(allowed.split(" "));
        for (Algorithm algorithm : Algorithm.values()) {
            assertThat(selection.allows(collective, algorithm)).isEqualTo(labels.contains(algorithm.label()));
        }
        assertThat(selection.allowsAll(collective)).isEqualTo(labels.size() == 3);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "rign | unknown name='rign'; expected ring, tree, direct",
                "ring, | unknown name=''",
                "^ring,tree,direct | leaves nothing",
                "foo:ring | unknown collective='foo'",
                "^ | unknown name=''",
            })
    void bad_settings_are_quoted(String text, String expected) {
        assertThatThrownBy(() -> Selection.parse(Algorithm.class, "JCCL_ALGO", text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("JCCL_ALGO=" + text)
                .hasMessageContaining(expected);
    }

    @Test
    void a_single_rank_needs_no_partner() {
        ChoiceTable table = table(shape(1, 1, 1, 1), TuningOverrides.none());
        for (Collective collective : Collective.values()) {
            assertThat(table.predictedMicros(collective, 1 << 20)).isPositive();
        }
    }

    private static ChoiceTable table(CommunicatorShape shape, TuningOverrides overrides) {
        return ChoiceTable.build(new CostModel(fixedCosts(), shape), overrides);
    }

    @Test
    void ranks_joined_by_sockets_save_a_hop_and_share_no_buffers() {
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
    void the_depth_of_trees_over_machines_is_that_of_the_double_binary_tree() {
        for (int machines = 1; machines < 200; machines++) {
            DoubleBinaryTree tree = new DoubleBinaryTree(machines);
            int deepest = IntStream.range(0, machines)
                    .map(member -> tree.depth(0, member))
                    .max()
                    .orElseThrow();
            assertThat(CommunicatorShape.treeDepthOver(machines)).isEqualTo(deepest);
        }
    }

    static CommunicatorShape shape(int ranks, int machines, int cores, int channels) {
        return new CommunicatorShape(
                ranks,
                machines,
                ranks / machines,
                cores,
                channels,
                CommunicatorShape.treeDepthOver(machines) + ranks / machines - 1,
                TransportKind.SHM,
                1.25,
                SLOTS);
    }
}
