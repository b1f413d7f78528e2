package io.jccl.cli.perf;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.DataType;
import java.nio.ByteBuffer;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ElementPatternTest {

    private static final int COUNT = 50_000;

    private static Region heap(int bytes) {
        return new Region.Nio(ByteBuffer.wrap(new byte[bytes]));
    }

    @ParameterizedTest
    @EnumSource(DataType.class)
    void elementsThatWereFilledCountAsCorrect(DataType type) {
        ElementPattern pattern = new ElementPattern(type, i -> CheckValues.moved(3, i));
        Region region = heap((COUNT + 7) * type.bytes());
        pattern.fill(region, 7, COUNT, 12_345);
        assertThat(pattern.countDifferences(region, 7, COUNT, 12_345)).isZero();
        assertThat(pattern.countDifferences(region, 8, COUNT - 1, 12_346)).isZero();
    }

    @ParameterizedTest
    @EnumSource(DataType.class)
    void countsEveryElementThatDiffersOnce(DataType type) {
        ElementPattern pattern = new ElementPattern(type, i -> CheckValues.moved(3, i));
        Region region = heap(COUNT * type.bytes());
        pattern.fill(region, 0, COUNT, 0);
        for (int element : new int[] {0, 1, 8191, 8192, 20_000, COUNT - 1}) {
            long place = (long) element * type.bytes();
            ByteBuffer bytes = region.read(place, type.bytes());
            byte[] flipped = new byte[type.bytes()];
            for (int i = 0; i < type.bytes(); i++) {
                flipped[i] = (byte) ~bytes.get(i);
            }
            region.write(place, ByteBuffer.wrap(flipped));
        }
        assertThat(pattern.countDifferences(region, 0, COUNT, 0)).isEqualTo(6);
    }

    @Test
    void aChunkInTheWrongPlaceIsCounted() {
        ElementPattern pattern = new ElementPattern(DataType.FLOAT32, i -> CheckValues.moved(0, i));
        Region region = heap(COUNT * 4);
        pattern.fill(region, 0, COUNT, 0);
        pattern.fill(region, 16_384, 1024, 32_768); // puts one chunk in the place of another
        assertThat(pattern.countDifferences(region, 0, COUNT, 0)).isGreaterThan(1000);
    }

    @Test
    void checksumsDependOnEveryByte() {
        Region region = heap(3 << 20);
        CRC32C before = new CRC32C();
        region.addTo(before, 0, 3 << 20);
        region.write((3 << 20) - 1, ByteBuffer.wrap(new byte[] {1}));
        CRC32C after = new CRC32C();
        region.addTo(after, 0, 3 << 20);
        assertThat(after.getValue()).isNotEqualTo(before.getValue());
    }
}
