package io.jccl.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class GatherTableTest {

    private static byte[] encoded(byte[]... parts) {
        WireWriter out = new WireWriter();
        GatherTable.write(out, parts);
        return out.toBytes();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
    void partsAreReadAsWrittenWhateverTheyHaveInCommon(int seed) {
        Random random = new Random(seed);
        for (int round = 0; round < 500; round++) {
            byte[][] parts = new byte[1 + random.nextInt(20)][];
            for (int rank = 0; rank < parts.length; rank++) {
                byte[] part = new byte[random.nextInt(random.nextInt(8) == 0 ? 300 : 6)];
                for (int i = 0; i < part.length; i++) {
                    part[i] = (byte) random.nextInt(2); // so that parts often begin or end alike
                }
                boolean repeats = rank > 0 && random.nextInt(3) == 0;
                parts[rank] = repeats ? parts[rank - 1].clone() : part;
            }
            List<byte[]> read = GatherTable.read(new WireReader(encoded(parts)), parts.length);
            assertThat(read.toArray(byte[][]::new)).isDeepEqualTo(parts);
        }
    }

    @Test
    void bytesThatRanksHaveInCommonAreWrittenOnce() {
        byte[][] equal = new byte[4096][];
        Arrays.fill(equal, new byte[1000]);
        assertThat(encoded(equal)).hasSizeLessThan(1100);
        byte[][] similar = new byte[4096][];
        for (int rank = 0; rank < similar.length; rank++) {
            similar[rank] = bytes("x".repeat(500) + String.format("%04d", rank) + "y".repeat(500));
        }
        assertThat(encoded(similar)).hasSizeLessThan(4096 * 12);
    }

    @Test
    void corruptTablesAreRefused() {
        byte[] good = encoded(bytes("abc"), bytes("abd"), bytes("abd"));
        for (int length = 0; length < good.length; length++) {
            byte[] cut = Arrays.copyOf(good, length);
            assertThatThrownBy(() -> GatherTable.read(new WireReader(cut), 3)).isInstanceOf(WireException.class);
        }
        assertThatThrownBy(() -> GatherTable.read(new WireReader(good), 2)).hasMessageContaining("ranks=2");
        assertThatThrownBy(() -> GatherTable.read(new WireReader(good), 4)).isInstanceOf(WireException.class);
        assertThatThrownBy(() -> GatherTable.read(new WireReader(new byte[] {1, 1, 0, 0}), 1))
                .hasMessage("prefix=1: expected 0 to 0");
        byte[] endless = {(byte) 0xff, (byte) 0xff, (byte) 0xff, (byte) 0xff, (byte) 0xff, (byte) 0xff};
        assertThatThrownBy(() -> GatherTable.read(new WireReader(endless), 9)).hasMessageContaining("ranks=");
    }
}
