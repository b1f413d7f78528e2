package io.jccl.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Collective;
import io.jccl.DataType;
import io.jccl.ReduceOp;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class SignaturesTest {

    @Test
    void countsOfRanksAreShownWithoutOffsets() {
        int gather = Signatures.of(Collective.GATHER, DataType.INT64, null);
        assertThat(Signatures.describe(gather, new long[] {2, 1, 0, 2}, 1))
                .isEqualTo("gather(type=int64 counts=[2, 1] root=1)");
        int reduce = Signatures.of(Collective.REDUCE_SCATTER, DataType.INT8, ReduceOp.MAX);
        assertThat(Signatures.describe(reduce, new long[] {4, 0}, 0))
                .isEqualTo("reduce_scatter(type=int8 op=max counts=[4])");
    }

    @Test
    void exchangesShowTheCountsThatAreSentAndReceived() {
        int exchange = Signatures.of(Collective.ALL_TO_ALL, DataType.FLOAT32, null);
        assertThat(Signatures.describe(exchange, new long[] {1, 2, 0, 1, 3, 4, 0, 3}, 0))
                .isEqualTo("all_to_all(type=float32 sendCounts=[1, 2] recvCounts=[3, 4])");
        assertThat(Signatures.describe(exchange, new long[4 * 65], 0)).contains("sendCounts=[65 values]");
    }

    @Test
    void everySignatureHasAPlaceOfItsOwn() {
        Set<Integer> signatures = new HashSet<>();
        for (Collective collective : Collective.values()) {
            for (DataType type : DataType.values()) {
                signatures.add(Signatures.ofUserReduction(collective, type));
                for (ReduceOp op : ReduceOp.values()) {
                    signatures.add(Signatures.of(collective, type, op));
                }
            }
        }
        assertThat(signatures.stream().map(Signatures::place))
                .doesNotHaveDuplicates()
                .allMatch(place -> place >= 0 && place < Signatures.PLACES);
    }
}
