package io.jccl.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.jccl.HostBuffer;
import java.nio.FloatBuffer;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** Tests copies between arrays and a host buffer, and the typed views of a host buffer. */
class HostBufferCopiesTest {

    private static final long LARGE = (2L << 30) + 4096; // untouched pages take no memory

    @Test
    void arraysOfEveryTypeAreReadBackAtTheirOffsets() {
        try (HostBuffer memory = HostBuffer.allocate(LARGE)) {
            long beyondAnInt = (2L << 30) + 3; // offsets need no alignment
            memory.put(beyondAnInt, new byte[] {1, -2, 3});
            memory.put(beyondAnInt + 100, new int[] {4, -5});
            memory.put(beyondAnInt + 200, new long[] {6, Long.MIN_VALUE});
            memory.put(beyondAnInt + 300, new float[] {0.5f, Float.NaN});
            memory.put(beyondAnInt + 400, new double[] {Math.PI});

            byte[] bytes = new byte[3];
            int[] ints = new int[2];
            long[] longs = new long[2];
            float[] floats = new float[2];
            double[] doubles = new double[1];
            memory.get(beyondAnInt, bytes);
            memory.get(beyondAnInt + 100, ints);
            memory.get(beyondAnInt + 200, longs);
            memory.get(beyondAnInt + 300, floats);
            memory.get(beyondAnInt + 400, doubles);
            assertThat(bytes).containsExactly(1, -2, 3);
            assertThat(ints).containsExactly(4, -5);
            assertThat(longs).containsExactly(6, Long.MIN_VALUE);
            assertThat(floats).containsExactly(0.5f, Float.NaN);
            assertThat(doubles).containsExactly(Math.PI);
            assertThat(memory.asFloatBuffer(beyondAnInt + 300, 1).get(0)).isEqualTo(0.5f);
            assertThat(memory.asDoubleBuffer(beyondAnInt + 400, 1).get(0)).isEqualTo(Math.PI);
        }
    }

    @Test
    void anArrayThatIsCopiedInSeveralPartsArrivesWhole() {
        long[] values = new long[(1 << 23) + 5]; // 64 MiB and 40 bytes
        values[0] = 1;
        values[1 << 23] = 2;
        values[values.length - 1] = 3;
        try (HostBuffer memory = HostBuffer.allocate(LARGE)) {
            memory.put(8, values);
            Arrays.fill(values, -1);
            memory.get(8, values);
        }
        assertThat(values[0]).isEqualTo(1);
        assertThat(values[1 << 23]).isEqualTo(2);
        assertThat(values[values.length - 1]).isEqualTo(3);
        assertThat(Arrays.stream(values).sum()).isEqualTo(6);
    }

    @Test
    void aRangeOutsideOfTheBufferIsRefusedBeforeAnythingIsCopied() {
        try (HostBuffer memory = HostBuffer.allocate(16)) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> memory.put(1, new float[] {1, 2, 3, 4}))
                    .withMessage("offsetBytes=1 length=4 elementBytes=4: lies outside of this buffer of bytes=16");
            assertThatIllegalArgumentException().isThrownBy(() -> memory.get(-1, new byte[1]));
            assertThatIllegalArgumentException().isThrownBy(() -> memory.get(Long.MAX_VALUE, new byte[1]));
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> memory.put(0, (float[]) null))
                    .withMessageStartingWith("array=null");
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> memory.asFloatBuffer(0, 1 << 30))
                    .withMessageContaining("count=1073741824: expected 0 to 536870911 elements");
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> memory.asFloatBuffer(0, -1073741823))
                    .withMessageContaining("count=-1073741823: expected 0 to");
            assertThatIllegalArgumentException().isThrownBy(() -> memory.asDoubleBuffer(0, Integer.MIN_VALUE));
            assertThat(memory.asFloatBuffer(0, 4)).isEqualTo(FloatBuffer.allocate(4));
        }
    }

    @Test
    void aClosedBufferIsRefused() {
        HostBuffer memory = HostBuffer.allocate(16);
        memory.close();
        assertThatIllegalStateException().isThrownBy(() -> memory.put(0, new byte[1]));
        assertThatIllegalStateException().isThrownBy(() -> memory.get(0, new byte[1]));
        assertThatIllegalStateException().isThrownBy(() -> memory.asFloatBuffer(0, 1));
    }
}
