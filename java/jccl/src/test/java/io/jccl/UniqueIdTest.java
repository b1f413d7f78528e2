package io.jccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The id's two forms, and what is not an id. */
class UniqueIdTest {

    private static final byte[] SECRET = new byte[] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

    private static InetSocketAddress address(String numeric, int port) {
        try {
            return new InetSocketAddress(InetAddress.getByName(numeric), port);
        } catch (UnknownHostException e) {
            throw new AssertionError(e);
        }
    }

    private static UniqueId id() {
        return UniqueId.of(List.of(address("192.0.2.7", 65535), address("2001:db8::1", 1)), SECRET);
    }

    @Test
    void bytesAndTextReadBackAsTheSameId() {
        UniqueId id = id();
        assertThat(UniqueId.fromBytes(id.toBytes())).isEqualTo(id).hasSameHashCodeAs(id);
        assertThat(UniqueId.parse(" " + id.toText() + "\n")).isEqualTo(id);
        assertThat(UniqueId.parse(id.toText()).addresses()).isEqualTo(id.addresses());
    }

    @Test
    void theLargestIdFits() {
        UniqueId id = UniqueId.of(Collections.nCopies(UniqueId.MAX_ADDRESSES, address("2001:db8::1", 9)), SECRET);
        assertThat(id.toBytes().length).isLessThanOrEqualTo(UniqueId.MAX_BYTES);
        assertThat(UniqueId.fromBytes(id.toBytes())).isEqualTo(id);
    }

    @Test
    void theTextForLogsHidesTheSecret() {
        assertThat(id().toString()).contains("192.0.2.7").doesNotContain(id().toText());
    }

    @Test
    void cutOrChangedBytesAreRefused() {
        byte[] good = id().toBytes();
        for (int length = 0; length < good.length; length++) {
            byte[] cut = Arrays.copyOf(good, length);
            assertThatIllegalArgumentException().isThrownBy(() -> UniqueId.fromBytes(cut));
        }
        byte[] longer = Arrays.copyOf(good, good.length + 1);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> UniqueId.fromBytes(longer))
                .withMessageContaining("changed on its way");
        byte[] newer = good.clone();
        newer[2] = 9;
        assertThatIllegalArgumentException()
                .isThrownBy(() -> UniqueId.fromBytes(newer))
                .withMessage("version=9: this library reads ids of version 1; use the same JCCL version on all ranks");
    }

    @Test
    void randomBytesNeverCrashTheReader() {
        Random random = new Random(3);
        for (int i = 0; i < 20_000; i++) {
            byte[] bytes = random.nextBoolean() ? id().toBytes() : new byte[random.nextInt(140)];
            for (int flips = 0; flips < 4 && bytes.length > 0; flips++) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            }
            try {
                UniqueId.fromBytes(bytes);
            } catch (IllegalArgumentException e) {
                assertThat(e).hasMessageNotContaining("null");
            }
        }
    }
}
