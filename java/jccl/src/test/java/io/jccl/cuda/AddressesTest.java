package io.jccl.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import jcuda.Pointer;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUstream;
import jcuda.runtime.cudaStream_t;
import org.junit.jupiter.api.Test;

/** Tests reading addresses from JCuda's objects, which needs no native libraries. */
class AddressesTest {

    private static final long ADDRESS = 0x7f30_0000_1000L;

    private static final class At extends Pointer {
        At(long address) {
            super(address);
        }
    }

    @Test
    void theAddressIsReadFromThePointer() {
        assertThat(Addresses.of(new At(ADDRESS))).isEqualTo(ADDRESS);
    }

    @Test
    void offsetsAreAddedToTheAddress() {
        Pointer pointer = new At(ADDRESS).withByteOffset(64).withByteOffset(8);
        assertThat(Addresses.of(pointer)).isEqualTo(ADDRESS + 72);
    }

    @Test
    void pointersThatPointToNoDeviceMemoryAreRefused() {
        for (Pointer pointer : new Pointer[] {
            new Pointer(),
            new CUdeviceptr(),
            Pointer.to(new float[4]),
            Pointer.to(new float[4]).withByteOffset(4),
            Pointer.to(ByteBuffer.allocateDirect(16))
        }) {
            assertThatThrownBy(() -> Addresses.of(pointer))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("points to no memory of a device")
                    .hasMessageContaining("expected one from cudaMalloc or cuMemAlloc");
        }
        assertThatThrownBy(() -> Addresses.of((Pointer) null)).hasMessageContaining("pointer=null");
    }

    @Test
    void zeroElementsNeedNoMemory() {
        assertThat(Addresses.of(new Pointer(), 0)).isZero();
        assertThat(Addresses.of(null, 0)).isZero();
        assertThat(Addresses.of(new At(ADDRESS), 1)).isEqualTo(ADDRESS);
        assertThatThrownBy(() -> Addresses.of(new Pointer(), 1))
                .hasMessageContaining("points to no memory of a device");
    }

    @Test
    void streamsOfDriverAndRuntimeApiHaveTheSameHandle() {
        CUstream driver = new CUstream();
        assertThat(Addresses.of(driver)).isZero();
        assertThat(Addresses.of(new cudaStream_t(driver))).isEqualTo(Addresses.of(driver));
    }
}
