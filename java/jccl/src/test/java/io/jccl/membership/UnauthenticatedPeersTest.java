package io.jccl.membership;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.UniqueId;
import io.jccl.wire.FrameLink;
import io.jccl.wire.FrameType;
import io.jccl.wire.Handshake;
import io.jccl.wire.Server;
import io.jccl.wire.UnauthenticatedPeerLog;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that unauthenticated peers do not disturb the initialisation of a group. */
@Timeout(120)
class UnauthenticatedPeersTest {

    private final List<Socket> open = new ArrayList<>();

    @AfterEach
    void closeAll() throws IOException {
        for (Socket socket : open) {
            socket.close();
        }
    }

    private Socket connect(InetSocketAddress address) throws IOException {
        Socket socket = new Socket();
        open.add(socket);
        socket.connect(address, 5000);
        socket.setSoTimeout(10_000);
        return socket;
    }

    /** Requires that the group initialises although unauthenticated peers have connected first. */
    private static void assertInitializes(UniqueId id) throws InterruptedException {
        List<Callable<Bootstrap>> tasks = new ArrayList<>();
        for (int rank = 0; rank < 4; rank++) {
            int mine = rank;
            tasks.add(() -> Bootstrap.join(id, mine, 4, Ranks.options()));
        }
        List<Bootstrap> group = Ranks.values(Ranks.together(tasks));
        Ranks.onAll(group, rank -> {
            rank.outOfBand().barrier(Ranks.SOON);
            return null;
        });
        Ranks.close(group);
    }

    /** Returns the number of bytes received until the other end closes the connection. */
    private static int bytesUntilClosed(Socket socket) throws IOException {
        InputStream in = socket.getInputStream();
        int n = 0;
        try {
            while (in.read() >= 0) {
                n++;
            }
        } catch (SocketException reset) {
            return n;
        }
        return n;
    }

    @Test
    void aThousandRandomClientsChangeNothing() throws Exception {
        UniqueId id = Bootstrap.createId(Ranks.options());
        InetSocketAddress address = id.addresses().get(0);
        Random random = new Random(7);
        Thread flood = new Thread(() -> {
            for (int i = 0; i < 1000; i++) {
                try (Socket socket = new Socket()) {
                    socket.connect(address, 1000);
                    byte[] bytes = new byte[random.nextInt(200)];
                    random.nextBytes(bytes);
                    socket.getOutputStream().write(bytes);
                } catch (IOException e) {
                    // refused: the group is complete and the rendezvous server is closed
                }
            }
        });
        flood.start();
        assertInitializes(id);
        flood.join();
    }

    @Test
    void silentPeersAreBoundedAndDoNotKeepRanksOut() throws Exception {
        UniqueId id = Bootstrap.createId(Ranks.options());
        for (int i = 0; i < Server.MAX_UNAUTHENTICATED + 100; i++) {
            connect(id.addresses().get(0));
        }
        assertThat(bytesUntilClosed(open.get(0))).as("the oldest is closed").isZero();
        assertInitializes(id);
    }

    /**
     * When thousands of ranks connect at once, each is an unauthenticated peer until it has proved that it knows the
     * secret.
     */
    @Test
    void noConnectionIsClosedInItsFirstSecond() throws Exception {
        UniqueId id = Bootstrap.createId(Ranks.options());
        long start = System.nanoTime();
        for (int i = 0; i < Server.MAX_UNAUTHENTICATED + 100; i++) {
            connect(id.addresses().get(0));
        }
        assertThat(bytesUntilClosed(open.get(0))).isZero();
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThan(Duration.ofMillis(900));
    }

    @Test
    void halfAGreetingAndHalfClosedConnectionsChangeNothing() throws Exception {
        UniqueId id = Bootstrap.createId(Ranks.options());
        connect(id.addresses().get(0)).getOutputStream().write(new byte[] {'J', 'C', 'C'});
        connect(id.addresses().get(0)).shutdownOutput();
        Socket reset = connect(id.addresses().get(0));
        reset.setSoLinger(true, 0);
        reset.close();
        assertInitializes(id);
    }

    @Test
    void aConnectionThatSendsGarbageIsClosedWithoutAnAnswer() throws Exception {
        UniqueId id = Bootstrap.createId(Ranks.options());
        Socket socket = connect(id.addresses().get(0));
        socket.getOutputStream().write("GET / HTTP/1.0\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
        assertThat(bytesUntilClosed(socket)).isZero();
        assertInitializes(id);
    }

    @Test
    void anUnauthenticatedPeerWithTheRightGreetingGetsNoProof() throws Exception {
        UniqueId id = Bootstrap.createId(Ranks.options());
        Socket socket = connect(id.addresses().get(0));
        socket.getOutputStream().write(Handshake.greeting(new byte[Handshake.NONCE_BYTES]));
        socket.getOutputStream().write(new byte[Handshake.PROOF_BYTES]);
        assertThat(bytesUntilClosed(socket)).isLessThanOrEqualTo(Handshake.GREETING_BYTES);
        assertInitializes(id);
    }

    @Test
    void aReplayedHandshakeIsRefused() throws Exception {
        UniqueId id = Bootstrap.createId(Ranks.options());
        Socket good = connect(id.addresses().get(0));
        byte[] nonce = Handshake.randomBytes(Handshake.NONCE_BYTES);
        byte[] proof = shake(good, id, nonce);
        assertThat(good.getInputStream().readNBytes(Handshake.PROOF_BYTES)).hasSize(Handshake.PROOF_BYTES);
        Socket replay = connect(id.addresses().get(0));
        replay.getOutputStream().write(Handshake.greeting(nonce));
        assertThat(replay.getInputStream().readNBytes(Handshake.GREETING_BYTES)).hasSize(Handshake.GREETING_BYTES);
        replay.getOutputStream().write(proof);
        assertThat(bytesUntilClosed(replay)).isZero();
        assertInitializes(id);
    }

    private static byte[] shake(Socket socket, UniqueId id, byte[] nonce) throws IOException {
        socket.getOutputStream().write(Handshake.greeting(nonce));
        byte[] serverNonce = Handshake.nonceOf(socket.getInputStream().readNBytes(Handshake.GREETING_BYTES));
        byte[] proof = Handshake.rankProof(id.secret(), Handshake.Purpose.RENDEZVOUS, nonce, serverNonce);
        socket.getOutputStream().write(proof);
        return proof;
    }

    @Test
    void authenticatedGarbageClosesOnlyItsConnection() throws Exception {
        UniqueId id = Bootstrap.createId(Ranks.options());
        Random random = new Random(3);
        for (int i = 0; i < 200; i++) {
            Socket socket = connect(id.addresses().get(0));
            shake(socket, id, Handshake.randomBytes(Handshake.NONCE_BYTES));
            byte[] body = new byte[random.nextInt(60)];
            random.nextBytes(body);
            FrameType type = FrameType.values()[random.nextInt(FrameType.values().length)];
            byte[] frame = FrameLink.encode(type, body).array();
            if (i % 3 == 0) {
                random.nextBytes(frame);
            }
            socket.getOutputStream().write(frame);
            if (i % 2 == 0) {
                socket.close();
            }
        }
        assertInitializes(id);
    }

    @Test
    void theLogHasOneLinePerSecondWithACount() {
        List<String> lines = new ArrayList<>();
        UnauthenticatedPeerLog log = new UnauthenticatedPeerLog(lines::add);
        for (int i = 0; i < 100; i++) {
            log.ignored("remote", "noise", i * 20_000_000L);
        }
        assertThat(lines).hasSize(2);
        assertThat(lines.get(1)).contains("and 49 more since the last such line", "total=51");
        assertThat(log.total()).isEqualTo(100);
    }
}
