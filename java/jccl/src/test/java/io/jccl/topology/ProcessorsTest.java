package io.jccl.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.List;
import org.junit.jupiter.api.Test;

class ProcessorsTest {

    @Test
    void processesBoundToPartsOfAHostHaveTheUnionOfTheParts() {
        assertThat(Processors.together(List.of(new Processors(1, "1"), new Processors(1, "2"))))
                .isEqualTo(2);
        assertThat(Processors.together(List.of(new Processors(2, "3"), new Processors(2, "6"))))
                .isEqualTo(3);
        assertThat(Processors.together(
                        List.of(new Processors(1, "80000000,00000000"), new Processors(1, "00000000,1"))))
                .isEqualTo(2);
    }

    @Test
    void processesThatMayRunAnywhereShareTheHost() {
        assertThat(Processors.together(List.of(new Processors(4, "f"), new Processors(4, "0000000f"))))
                .isEqualTo(4);
    }

    @Test
    void aQuotaIsAssumedToBeShared() {
        assertThat(Processors.together(List.of(new Processors(2, "ff"), new Processors(2, "ff"))))
                .isEqualTo(2);
    }

    @Test
    void withoutMasksTheLargestCountIsUsed() {
        assertThat(Processors.together(List.of(new Processors(2, ""), new Processors(4, "zz"))))
                .isEqualTo(4);
    }

    @Test
    void aProcessSharesWithThoseThatOverlapDirectlyOrThroughOthers() {
        Processors first = new Processors(1, "1");
        Processors second = new Processors(2, "6");
        Processors third = new Processors(2, "c");
        Processors far = new Processors(1, "80000000,00000000");
        List<Processors> all = List.of(third, first, far, second, first);
        assertThat(Processors.sharing(first, all)).containsExactly(first, first);
        assertThat(Processors.sharing(second, all)).containsExactly(third, second);
        assertThat(Processors.sharing(far, all)).containsExactly(far);
        Processors between = new Processors(2, "3");
        assertThat(Processors.sharing(third, List.of(first, second, third, between, far)))
                .containsExactly(first, second, third, between);
    }

    @Test
    void allProcessesShareIfOneMayRunAnywhere() {
        List<Processors> all = List.of(new Processors(1, "1"), new Processors(1, "2"), new Processors(4, ""));
        assertThat(Processors.sharing(all.get(0), all)).isEqualTo(all);
    }

    @Test
    void aProcessWithoutProcessorsIsRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Processors(0, ""))
                .withMessageContaining("count=0");
    }
}
