package io.jccl.lightgbm;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Compares the expression that each order computes with the expected one. In it, {@code (a+b)} means that block b is
 * added to block a.
 */
final class FoldOrderTest {

    @ParameterizedTest
    @CsvSource({
        "0, 2, (0+1)",
        "1, 2, (1+0)",
        "0, 4, ((0+2)+(1+3))",
        "2, 4, ((2+0)+(3+1))",
        "3, 8, (((3+7)+(1+5))+((2+6)+(0+4)))",
        "0, 3, (0+(1+2))",
        "2, 3, ((1+2)+0)",
        "4, 6, (((4+5)+1)+((2+3)+0))"
    })
    void halvingPairsRanksThatAreFarApartFirst(int rank, int size, String expected) {
        assertThat(expression(FoldOrder.halving(rank, size), size)).isEqualTo(expected);
    }

    @Test
    void ringBeginsWithTheNextRankAndEndsWithThisOne() {
        assertThat(expression(FoldOrder.ring(1, 4), 4)).isEqualTo("(1+(0+(3+2)))");
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4, 5, 6, 7, 8, 12, 16, 31, 33})
    void everyRankIsFoldedExactlyOnce(int size) {
        for (int rank = 0; rank < size; rank++) {
            for (FoldOrder order : new FoldOrder[] {FoldOrder.halving(rank, size), FoldOrder.ring(rank, size)}) {
                assertThat(expression(order, size).split("[(+)]+"))
                        .as("rank %s of %s", rank, size)
                        .filteredOn(name -> !name.isEmpty())
                        .hasSize(size)
                        .doesNotHaveDuplicates();
            }
        }
    }

    @Test
    void largeInputsUseTheRingUnlessTheNumberOfRanksIsAPowerOfTwo() {
        int limit = 10 * 1024 * 1024;
        assertThat(FoldOrder.isByHalving(3, limit - 1)).isTrue();
        assertThat(FoldOrder.isByHalving(3, limit)).isFalse();
        assertThat(FoldOrder.isByHalving(4, limit)).isTrue();
    }

    private static String expression(FoldOrder order, int size) {
        String[] blocks = new String[size];
        for (int i = 0; i < size; i++) {
            blocks[i] = Integer.toString(i);
        }
        for (int i = 0; i < order.steps().length; i += 2) {
            int into = order.steps()[i];
            blocks[into] = "(" + blocks[into] + "+" + blocks[order.steps()[i + 1]] + ")";
        }
        return blocks[order.result()];
    }
}
