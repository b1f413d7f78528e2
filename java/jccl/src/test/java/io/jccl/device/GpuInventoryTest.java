package io.jccl.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.device.GpuInventory.LinkEnd;
import io.jccl.device.GpuInventory.PeerAccess;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class GpuInventoryTest {

    private static final long[] ONE = {
        1, 3, 0x1L << 20 | 0x3b << 12 | 0x1f << 4 | 2, 90, 1, 10, 45000, 2, 2, 0, 2, -1, 5, 7, 0xc1000, 4, -1
    };

    @Test
    void readsTheLayoutThatTheNativeSideWrites() {
        GpuInventory.Gpu gpu =
                GpuInventory.decode("nvml", ONE, List.of()).gpus().get(0);
        assertThat(gpu.index()).isEqualTo(3);
        assertThat(gpu.busId()).isEqualTo("0001:3b:1f.2");
        assertThat(gpu.sm()).isEqualTo(90);
        assertThat(gpu.mig()).contains(true);
        assertThat(gpu.c2cLinks()).isEqualTo(10);
        assertThat(gpu.c2cMegabytesPerSecond()).isEqualTo(45000);
        assertThat(gpu.nvLinks())
                .containsExactly(
                        new GpuInventory.NvLink(0, LinkEnd.SWITCH, Optional.empty()),
                        new GpuInventory.NvLink(5, LinkEnd.UNKNOWN, Optional.of("0000:c1:00.0")));
        assertThat(gpu.peers()).containsExactly(PeerAccess.NO, PeerAccess.UNKNOWN);
    }

    @Test
    void refusesTooFewNumbersTooManyNumbersAndNegativeCounts() {
        for (int length = 0; length < ONE.length; length++) {
            long[] cut = Arrays.copyOf(ONE, length);
            assertThatThrownBy(() -> GpuInventory.decode("nvml", cut, List.of()))
                    .as("length %d", length)
                    .isInstanceOf(IllegalArgumentException.class);
        }
        assertThatThrownBy(() -> GpuInventory.decode("nvml", Arrays.copyOf(ONE, 20), List.of()))
                .hasMessageContaining("numbers=20: expected 17");
        long[] negative = ONE.clone();
        negative[7] = -5;
        assertThatThrownBy(() -> GpuInventory.decode("nvml", negative, List.of()))
                .hasMessageContaining("place=7 value=-5: expected a count");
    }
}
