package io.jccl.cli.perf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.jccl.Collective;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class PerfCollectiveTest {

    @Test
    void everyCollectiveAndTheVectorFormsOfTheApiCanBeMeasured() {
        assertThat(PerfCollective.all()).extracting(PerfCollective::kind).contains(Collective.values());
        assertThat(PerfCollective.all())
                .filteredOn(PerfCollective::vector)
                .extracting(PerfCollective::label)
                .containsExactlyInAnyOrder("all_gather_v", "reduce_scatter_v", "all_to_all_v", "gather_v", "scatter_v");
    }

    @ParameterizedTest
    @MethodSource("io.jccl.cli.perf.PerfCollective#all")
    void everyLabelIsRead(PerfCollective collective) {
        assertThat(PerfCollective.parse(collective.label())).isEqualTo(collective);
    }

    @ParameterizedTest
    @ValueSource(strings = {"ALL_GATHER_V", " all-gather-v ", "All_Gather-v"})
    void caseAndHyphensDoNotMatter(String label) {
        assertThat(PerfCollective.parse(label)).isEqualTo(new PerfCollective(Collective.ALL_GATHER, true));
    }

    @ParameterizedTest
    @CsvSource({
        "allreduce, all_reduce",
        "AllReduce, all_reduce",
        "allgather, all_gather",
        "allGatherV, all_gather_v",
        "all_to_al, all_to_all",
        "alltoallv, all_to_all_v",
        "reduce_scater, reduce_scatter",
        "brodcast, broadcast",
        "sendrecv, send_recv"
    })
    void aMisspeltNameIsRefusedWithTheNearest(String label, String nearest) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PerfCollective.parse(label))
                .withMessageStartingWith("collective=\"" + label + "\": unknown; name one of [all_reduce, ")
                .withMessageEndingWith("]; did you mean " + nearest + "?");
    }

    @Test
    void aNameThatResemblesNoneIsRefusedWithAllNames() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PerfCollective.parse("all_sum"))
                .withMessageEndingWith(", exscan]");
    }

    @Test
    void aVectorFormOfAnAllReduceIsRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new PerfCollective(Collective.ALL_REDUCE, true))
                .withMessage(
                        "collective=all_reduce: has no v-form; expected all_gather, reduce_scatter, all_to_all, gather"
                                + " or scatter");
    }
}
