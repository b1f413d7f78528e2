package io.jccl.membership;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.UniqueId;
import io.jccl.wire.Handshake;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

class UniqueIdTest {

    private static final UniqueId ID = UniqueId.of(
            List.of(new InetSocketAddress("10.0.0.1", 65000), new InetSocketAddress("fd00::1", 1)),
            Handshake.randomBytes(UniqueId.SECRET_BYTES));

    @Test
    void bytesAndTextAreReadAsWritten() {
        assertThat(UniqueId.fromBytes(ID.toBytes())).isEqualTo(ID);
        assertThat(UniqueId.parse(" " + ID.toText() + "\n")).isEqualTo(ID);
    }

    @Test
    void theLongestIdFitsTheMaximum() {
        UniqueId longest = UniqueId.of(
                Collections.nCopies(UniqueId.MAX_ADDRESSES, new InetSocketAddress("fd00::1", 65535)), new byte[16]);
        assertThat(longest.toBytes()).hasSizeLessThanOrEqualTo(UniqueId.MAX_BYTES);
        assertThat(UniqueId.fromBytes(longest.toBytes())).isEqualTo(longest);
    }

    @Test
    void everyChangedBitOrMissingByteIsNoticed() {
        for (int bit = 0; bit < ID.toBytes().length * 8; bit++) {
            byte[] bytes = ID.toBytes();
            bytes[bit / 8] ^= (byte) (1 << bit % 8);
            assertThatThrownBy(() -> UniqueId.fromBytes(bytes)).isInstanceOf(IllegalArgumentException.class);
        }
        for (int n = 0; n < ID.toBytes().length; n++) {
            byte[] cut = Arrays.copyOf(ID.toBytes(), n);
            assertThatThrownBy(() -> UniqueId.fromBytes(cut)).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void theSecretIsNotInItsDescription() {
        assertThat(ID.toString()).doesNotContain(ID.toText()).contains("10.0.0.1");
    }
}
