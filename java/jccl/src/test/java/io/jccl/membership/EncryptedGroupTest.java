package io.jccl.membership;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.BootstrapException;
import io.jccl.UniqueId;
import io.jccl.rendezvous.BootstrapOptions;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests groups whose connections are encrypted. */
@Timeout(120)
class EncryptedGroupTest {

    private static final BootstrapOptions ENCRYPTED = Ranks.options().withEncryption(true);
    private static final BootstrapOptions CLEAR = Ranks.options().withEncryption(false);

    /** 40 ranks have relays. The blobs are longer than a record. */
    @Test
    void ranksMeetExchangeLongBlobsAndPassThemOn() throws Exception {
        List<Bootstrap> group = Ranks.join(40, ENCRYPTED);
        List<List<byte[]>> gathered =
                Ranks.onAll(group, rank -> rank.outOfBand().allGather(new byte[5_000], Ranks.SOON));
        assertThat(gathered).allSatisfy(all -> assertThat(all).hasSize(40));
        Ranks.onAll(group, rank -> {
            rank.outOfBand().barrier(Ranks.SOON);
            return null;
        });
        Ranks.close(group);
    }

    private static List<Ranks.Outcome<Bootstrap>> join(
            BootstrapOptions ofServer, BootstrapOptions ofRank0, BootstrapOptions ofRank1) throws InterruptedException {
        UniqueId id = Bootstrap.createId(ofServer);
        List<Callable<Bootstrap>> ranks =
                List.of(() -> Bootstrap.join(id, 0, 2, ofRank0), () -> Bootstrap.join(id, 1, 2, ofRank1));
        return Ranks.together(ranks);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void ifOneRankEncryptsAndTheOtherDoesNotBothEndAtOnceWithTheReason(boolean server) throws Exception {
        long start = System.nanoTime();
        BootstrapOptions same = server ? ENCRYPTED : CLEAR;
        List<Ranks.Outcome<Bootstrap>> outcomes = join(same, same, server ? CLEAR : ENCRYPTED);
        assertThat(outcomes).allSatisfy(outcome -> assertThat(outcome.error())
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("JCCL_ENCRYPTION differs between ranks")
                .hasMessageContaining("set the same value on all ranks"));
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(5));
    }

    @Test
    void aRankWithAnotherSecretIsRefused() throws Exception {
        UniqueId id = Bootstrap.createId(ENCRYPTED);
        UniqueId other = UniqueId.of(id.addresses(), new byte[UniqueId.SECRET_BYTES]);
        List<Ranks.Outcome<Bootstrap>> outcomes = Ranks.together(List.of(() -> Bootstrap.join(other, 1, 2, ENCRYPTED)));
        assertThat(outcomes.get(0).error())
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("refused our proof of the secret");
    }

    @Test
    void aGroupIsReformedAndTakesAProcessIn() throws Exception {
        UniqueId id = Bootstrap.createId(ENCRYPTED);
        List<Callable<Bootstrap>> ranks = new ArrayList<>();
        for (int rank = 0; rank < 3; rank++) {
            int mine = rank;
            ranks.add(() -> Bootstrap.join(id, mine, 3, ENCRYPTED));
        }
        List<Bootstrap> group = Ranks.values(Ranks.together(ranks));
        List<String> addresses =
                group.stream().map(Bootstrap::rendezvousAddress).toList();
        JobMembers members = JobMembers.of(id, List.of(JobMembers.text(addresses.get(1))));
        List<Callable<Bootstrap>> reforming = new ArrayList<>();
        for (Bootstrap one : group) {
            reforming.add(() -> one.reform(new TreeSet<>(), 1, addresses, false, ENCRYPTED));
        }
        reforming.add(() -> Bootstrap.join(members, 0, ENCRYPTED, attempt -> {}));
        List<Bootstrap> larger = Ranks.values(Ranks.together(reforming));
        assertThat(larger).allSatisfy(one -> assertThat(one.size()).isEqualTo(4));
        Ranks.close(larger);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aRecordingProxySeesClearTextOnlyWithoutEncryption(boolean encrypted) throws Exception {
        BootstrapOptions options = encrypted ? ENCRYPTED : CLEAR;
        UniqueId id = Bootstrap.createId(options);
        try (RecordingProxy proxy = new RecordingProxy(id.addresses().get(0))) {
            UniqueId throughProxy = UniqueId.of(List.of(proxy.address()), id.secret());
            List<Bootstrap> group = Ranks.values(Ranks.together(List.of(
                    () -> Bootstrap.join(throughProxy, 0, 2, options),
                    () -> Bootstrap.join(throughProxy, 1, 2, options))));
            Ranks.close(group);
            String recorded = proxy.recorded();
            assertThat(recorded.length()).isGreaterThan(200);
            assertThat(recorded.contains("test 1")).as("the version in HELLO").isEqualTo(!encrypted);
            assertThat(recorded).doesNotContain(new String(id.secret(), StandardCharsets.ISO_8859_1));
        }
    }

    /** Passes on all bytes of all connections, and records them. */
    private static final class RecordingProxy implements AutoCloseable {

        private final InetSocketAddress to;
        private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        private final ByteArrayOutputStream recorded = new ByteArrayOutputStream();

        RecordingProxy(InetSocketAddress to) throws IOException {
            this.to = to;
            Thread accepting = new Thread(() -> {
                try {
                    while (true) {
                        Socket client = server.accept();
                        Socket peer = new Socket(to.getAddress(), to.getPort());
                        copy(client, peer);
                        copy(peer, client);
                    }
                } catch (IOException closed) {
                    // the test is over
                }
            });
            accepting.setDaemon(true);
            accepting.start();
        }

        private void copy(Socket from, Socket into) {
            Thread copying = new Thread(() -> {
                try (from;
                        into) {
                    InputStream in = from.getInputStream();
                    OutputStream out = into.getOutputStream();
                    byte[] bytes = new byte[4096];
                    for (int n = in.read(bytes); n >= 0; n = in.read(bytes)) {
                        synchronized (recorded) {
                            recorded.write(bytes, 0, n);
                        }
                        out.write(bytes, 0, n);
                    }
                } catch (IOException broken) {
                    // the other direction has closed both sockets
                }
            });
            copying.setDaemon(true);
            copying.start();
        }

        InetSocketAddress address() {
            return (InetSocketAddress) server.getLocalSocketAddress();
        }

        String recorded() {
            synchronized (recorded) {
                return recorded.toString(StandardCharsets.ISO_8859_1);
            }
        }

        @Override
        public void close() throws IOException {
            server.close();
        }
    }
}
