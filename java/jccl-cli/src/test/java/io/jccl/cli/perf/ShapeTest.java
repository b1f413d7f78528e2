package io.jccl.cli.perf;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Collective;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class ShapeTest {

    @ParameterizedTest
    @CsvSource({
        // columns: collective, ranks, bytes of the larger buffer (as in nccl-tests), bytes of an element, count of the
        // call, elements of the larger buffer
        "ALL_REDUCE, 4, 1024, 4, 256, 256",
        "BROADCAST, 3, 1024, 8, 128, 128",
        "SEND_RECV, 2, 100, 1, 100, 100",
        "ALL_GATHER, 4, 1024, 4, 64, 256",
        "REDUCE_SCATTER, 3, 1024, 4, 85, 255",
        "ALL_TO_ALL, 8, 1024, 4, 32, 256",
        "GATHER, 5, 1000, 2, 100, 500",
        "SCATTER, 1, 64, 8, 8, 8"
    })
    void countsByTheRulesOfNcclTests(
            Collective collective, int ranks, long bytes, int elementBytes, long count, long elements) {
        Shape shape = Shape.of(PerfCollective.of(collective), ranks, bytes, elementBytes);
        assertThat(shape.count()).isEqualTo(count);
        assertThat(shape.elements()).isEqualTo(elements);
    }

    @ParameterizedTest
    @EnumSource(value = Collective.class, names = "BARRIER", mode = EnumSource.Mode.EXCLUDE)
    void movesAtLeastOneElementForEachBlock(Collective collective) {
        assertThat(Shape.of(PerfCollective.of(collective), 8, 1, 8).count()).isEqualTo(1);
    }

    @Test
    void aBarrierMovesNothing() {
        assertThat(Shape.of(PerfCollective.of(Collective.BARRIER), 8, 1024, 4).elements())
                .isZero();
    }

    @ParameterizedTest
    @CsvSource({
        "all_gather_v, 3, 1024, 4, 128, 256",
        "reduce_scatter_v, 4, 40, 1, 16, 40",
        "gather_v, 3, 1024, 4, 128, 256",
        "all_to_all_v, 5, 4, 4, 1, 1"
    })
    void vectorFormsMoveTheWholeSizeAndTheirCountIsThatOfTheLargestBlock(
            String collective, int ranks, long bytes, int elementBytes, long count, long elements) {
        Shape shape = Shape.of(PerfCollective.parse(collective), ranks, bytes, elementBytes);
        assertThat(shape.count()).isEqualTo(count);
        assertThat(shape.elements()).isEqualTo(elements);
        assertThat(LongStream.of(shape.blocks().counts()).sum()).isEqualTo(elements);
    }

    @ParameterizedTest
    @CsvSource({"all_to_all, 4", "all_to_all_v, 1", "all_to_all_v, 4", "all_to_all_v, 5"})
    void blocksThatOneRankSendsEqualThoseThatTheOtherReceives(String collective, int ranks) {
        Shape shape = Shape.of(PerfCollective.parse(collective), ranks, 1000, 4);
        for (int from = 0; from < ranks; from++) {
            assertThat(LongStream.of(shape.sentBy(from).counts()).sum()).isEqualTo(shape.elements());
            assertThat(LongStream.of(shape.receivedBy(from).counts()).sum()).isEqualTo(shape.elements());
            for (int to = 0; to < ranks; to++) {
                assertThat(shape.sentBy(from).count(to))
                        .isEqualTo(shape.receivedBy(to).count(from));
            }
        }
    }

    @ParameterizedTest
    @CsvSource({
        "ALL_REDUCE, 1.5",
        "ALL_GATHER, 0.75",
        "REDUCE_SCATTER, 0.75",
        "ALL_TO_ALL, 0.75",
        "GATHER, 0.75",
        "SCATTER, 0.75",
        "BROADCAST, 1",
        "REDUCE, 1",
        "SEND_RECV, 1",
        "BARRIER, 1",
        "SCAN, 1",
        "EXSCAN, 1"
    })
    void busFactorsOfFourRanks(Collective collective, double factor) {
        assertThat(Shape.busFactor(collective, 4)).isEqualTo(factor);
    }
}
