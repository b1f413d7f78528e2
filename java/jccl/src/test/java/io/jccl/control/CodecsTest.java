package io.jccl.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.ChannelWait;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import io.jccl.WaitFor;
import io.jccl.rendezvous.RankRegistration;
import io.jccl.wire.Addresses;
import io.jccl.wire.FrameType;
import io.jccl.wire.Handshake;
import io.jccl.wire.LastEntered;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(20)
class CodecsTest {

    private static FailureReport report() {
        RankStatus full = new RankStatus(
                1,
                RankStatus.State.ANSWERED,
                new LastEntered(12, 3),
                CoordinatorTest.entered(1, 12, -5, 1L << 40).operation(),
                List.of(new ChannelWait(1, 3, 0, TransportKind.SOCKET, WaitFor.CREDIT, Protocol.LL128, 1L << 50)));
        return new FailureReport(
                FailureReport.Kind.TIMEOUT,
                12,
                1,
                new TreeSet<>(List.of(0)),
                new TreeSet<>(List.of(0, 2)),
                List.of(
                        RankStatus.silent(0),
                        full.with(new Trail(12, List.of(7L, -8L))),
                        RankStatus.departed(2, new LastEntered(11, 7))),
                "üben: it took long");
    }

    private static FailureReport decode(byte[] bytes) {
        return Codecs.decodeFailure(new WireReader(bytes), 3);
    }

    @Test
    void aFailureIsDecodedAsItWasEncoded() {
        assertThat(decode(Codecs.encode(report()))).isEqualTo(report());
    }

    /**
     * Every rank receives the rows of all ranks. Without compression, the bytes of all messages together would grow
     * with the square of the number of ranks.
     */
    @Test
    void similarRowsTakeAboutTheBytesOfOneRow() {
        int size = 4096;
        List<RankStatus> rows = new ArrayList<>();
        for (int rank = 0; rank < size; rank++) {
            ChannelWait wait = new ChannelWait(
                    rank, 0, (rank + size - 1) % size, TransportKind.SOCKET, WaitFor.DATA, Protocol.SIMPLE, 912);
            rows.add(new RankStatus(
                    rank,
                    RankStatus.State.ANSWERED,
                    new LastEntered(7, 0),
                    CoordinatorTest.entered(rank, 7, -5, rank == 77 ? 3 : 4).operation(),
                    List.of(wait)));
        }
        FailureReport report = new FailureReport(
                FailureReport.Kind.MISMATCH, 7, 1, new TreeSet<>(), new TreeSet<>(), rows, "rank 77 called count=3");
        byte[] bytes = Codecs.encode(report);
        assertThat(bytes).hasSizeLessThan(1000);
        assertThat(Codecs.decodeFailure(new WireReader(bytes), size)).isEqualTo(report);
    }

    @Test
    void everyShortenedOrLengthenedMessageIsRefused() {
        byte[] bytes = Codecs.encode(report());
        for (int n = 0; n < bytes.length; n++) {
            byte[] cut = Arrays.copyOf(bytes, n);
            assertThatThrownBy(() -> decode(cut)).isInstanceOf(WireException.class);
        }
        assertThatThrownBy(() -> decode(Arrays.copyOf(bytes, bytes.length + 1)))
                .isInstanceOf(WireException.class)
                .hasMessageContaining("too long");
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5})
    void corruptBytesAreReadOrRefusedWithAReason(long seed) {
        Random random = new Random(seed);
        byte[] good = Codecs.encode(report());
        for (int i = 0; i < 2000; i++) {
            byte[] bytes = i % 2 == 0 ? good.clone() : new byte[random.nextInt(200)];
            if (i % 2 == 0) {
                for (int flips = random.nextInt(4); flips >= 0; flips--) {
                    bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
                }
            } else {
                random.nextBytes(bytes);
            }
            tolerates(() -> decode(bytes).describe());
            tolerates(() -> Addresses.decode(bytes));
            tolerates(() -> RankRegistration.Hello.read(new WireReader(bytes)));
        }
    }

    /** Requires that a reader either succeeds or refuses the bytes with a reason. */
    private static void tolerates(Runnable reading) {
        try {
            reading.run();
        } catch (WireException e) {
            assertThat(e).hasMessageMatching("(?s).+");
        } catch (NullPointerException e) {
            assertThat(e.getStackTrace()[0].getMethodName()).isEqualTo("refuse");
        }
    }

    @Test
    void lengthsAreCheckedBeforeMemoryIsAllocated() {
        byte[] huge = new WireWriter().i32(Integer.MAX_VALUE).toBytes();
        assertThatThrownBy(() -> new WireReader(huge).blob(Integer.MAX_VALUE)).isInstanceOf(WireException.class);
        assertThatThrownBy(() -> new WireReader(huge).ranks(Integer.MAX_VALUE)).isInstanceOf(WireException.class);
        assertThatThrownBy(() -> FrameType.checkLength(-1, 10)).isInstanceOf(WireException.class);
        assertThatThrownBy(() -> FrameType.of(FrameType.values().length)).isInstanceOf(WireException.class);
    }

    @Test
    void theWriterCutsTextThatTheReaderWouldRefuse() {
        byte[] bytes = new WireWriter().text("é".repeat(100), 10).toBytes();
        assertThat(new WireReader(bytes).text(10)).isEqualTo("é".repeat(10));
        byte[] longer = new WireWriter().text("e".repeat(11), 11).toBytes();
        assertThatThrownBy(() -> new WireReader(longer).text(10))
                .isInstanceOf(WireException.class)
                .hasMessageContaining("text.length=11: expected at most 10");
    }

    @Test
    void waitsBeyondTheMaximumAreDropped() {
        ChannelWait wait = new ChannelWait(0, 0, 1, TransportKind.SHM, WaitFor.DATA, Protocol.LL, 1);
        RankStatus status = new RankStatus(
                0, RankStatus.State.ANSWERED, new LastEntered(1, 0), Optional.empty(), Collections.nCopies(500, wait));
        WireWriter out = new WireWriter();
        Codecs.write(out, status);
        assertThat(Codecs.readStatus(new WireReader(out.toBytes()), 2).waits()).hasSize(Codecs.MAX_WAITS);
    }

    @Test
    void proofsDifferByRoleAndPurpose() {
        byte[] secret = new byte[16];
        byte[] a = new byte[32];
        byte[] rank = Handshake.rankProof(secret, Handshake.Purpose.RENDEZVOUS, a, a);
        assertThat(rank).isNotEqualTo(Handshake.serverProof(secret, Handshake.Purpose.RENDEZVOUS, a, a));
        assertThat(rank).isNotEqualTo(Handshake.rankProof(secret, Handshake.Purpose.COORDINATOR, a, a));
        assertThat(rank).isNotEqualTo(Handshake.rankProof(new byte[] {1}, Handshake.Purpose.RENDEZVOUS, a, a));
    }

    @Test
    void aGreetingOfAnotherVersionIsRefusedWithItsVersion() {
        byte[] greeting = Handshake.greeting(new byte[Handshake.NONCE_BYTES]);
        greeting[7] = 9;
        assertThatThrownBy(() -> Handshake.nonceOf(greeting)).hasMessageContaining("handshake version=9: expected 2");
    }
}
