package io.jccl.tuner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.Collective;
import io.jccl.wire.WireException;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.Test;

class TunerPluginTest {

    @Test
    void choicesAreEncodedAsRuns() {
        long[] sums = new long[177];
        Arrays.fill(sums, 20, 60, 0x1234L << 32 | 5);
        sums[100] = -1;
        byte[] bytes = TunerPlugin.encode(Map.of(Collective.ALL_REDUCE, sums, Collective.REDUCE, new long[3]));
        assertThat(bytes.length).isLessThan(100);
        Map<Collective, long[]> decoded = TunerPlugin.decode(bytes);
        assertThat(decoded).containsOnlyKeys(Collective.ALL_REDUCE, Collective.REDUCE);
        assertThat(decoded.get(Collective.ALL_REDUCE)).containsExactly(sums);
    }

    @Test
    void invalidBytesAreRefused() {
        byte[] good = TunerPlugin.encode(Map.of(Collective.ALL_REDUCE, new long[177]));
        for (int at = 0; at < good.length; at++) {
            int end = at;
            assertThatThrownBy(() -> TunerPlugin.decode(Arrays.copyOf(good, end)))
                    .as("cut at %d", at)
                    .isInstanceOf(WireException.class);
            if (at < 16) { // later bytes encode a choice: many other values are valid, too
                byte[] wrong = good.clone();
                wrong[at] ^= 0x7f;
                assertThatThrownBy(() -> TunerPlugin.decode(wrong))
                        .as("changed at %d", at)
                        .isInstanceOf(WireException.class);
            }
        }
        assertThatThrownBy(() -> TunerPlugin.decode(Arrays.copyOf(good, good.length + 1)))
                .isInstanceOf(WireException.class);
    }
}
