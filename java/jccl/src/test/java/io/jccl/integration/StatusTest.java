package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.MessageStatus;
import io.jccl.Messages;
import io.jccl.UniqueId;
import io.jccl.config.Settings;
import io.jccl.status.Absentee;
import io.jccl.status.Answer;
import io.jccl.status.CommunicatorView;
import io.jccl.status.JobIdentity;
import io.jccl.status.RankSnapshot;
import io.jccl.status.Request;
import io.jccl.status.StatusClient;
import io.jccl.status.StatusDirectory;
import io.jccl.testing.Resources;
import io.jccl.wire.Handshake;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Access to the status server of a process: who gets an answer and who is refused. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StatusTest {

    private static final Duration LIMIT = Duration.ofSeconds(5L * LocalRanks.SLOWNESS);
    private static final Request JOB = Request.latest(Request.Kind.JOB);

    @TempDir
    Path folder;

    private final UniqueId id = UniqueId.create();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final List<Communicator> communicators = new ArrayList<>();
    private final StatusClient client = new StatusClient();

    @AfterEach
    void close() throws Exception {
        client.close();
        closeCommunicators();
        threads.shutdownNow();
    }

    private void closeCommunicators() throws Exception {
        List<Future<?>> closing = new ArrayList<>();
        communicators.forEach(comm -> closing.add(threads.submit(comm::close)));
        for (Future<?> one : closing) {
            one.get(30, TimeUnit.SECONDS);
        }
        communicators.clear();
    }

    private CommunicatorConfig.Builder config() {
        return LocalRanks.config()
                .setting("JCCL_STATUS_DIR", folder.resolve("status").toString());
    }

    private void start(CommunicatorConfig config) throws Exception {
        List<Callable<Communicator>> tasks = new ArrayList<>();
        for (int rank = 0; rank < 2; rank++) {
            int mine = rank;
            tasks.add(() -> Communicator.init(id, mine, 2, config));
        }
        for (Future<Communicator> one : threads.invokeAll(tasks)) {
            communicators.add(one.get(30, TimeUnit.SECONDS));
        }
    }

    private StatusDirectory directory() throws IOException {
        return StatusDirectory.of(Settings.load(config().build()));
    }

    private StatusDirectory.Entry entry() throws IOException {
        List<StatusDirectory.Entry> entries = directory().entries();
        assertThat(entries).hasSize(1);
        return entries.get(0);
    }

    private StatusClient.Result ask(SocketAddress address, Optional<JobIdentity.Key> key) throws Exception {
        return client.ask(address, key, JOB, LIMIT).get(2 * LIMIT.toSeconds(), TimeUnit.SECONDS);
    }

    private Answer answer() throws Exception {
        StatusClient.Result result = ask(entry().address(), Optional.empty());
        return result.answer().orElseThrow(() -> new AssertionError(result.toString()));
    }

    private InetSocketAddress port() throws Exception {
        return new InetSocketAddress(
                InetAddress.getLoopbackAddress(), answer().processes().get(0).port());
    }

    @Test
    void aRankThatWaitsForAMessageIsSeenInItsCall() throws Exception {
        start(config().build());
        Messages messages = communicators.get(0).messages();
        messages.receiveAsync(Messages.ANY, 8, DataBuffer.of(new int[1])); // nothing waits for this one
        Future<MessageStatus> received = threads.submit(() -> messages.receive(1, 7, DataBuffer.of(new int[1])));
        long end = System.nanoTime() + LIMIT.toNanos();
        Optional<CommunicatorView.UnderWay> underWay = Optional.empty();
        while (underWay.isEmpty() && System.nanoTime() - end < 0) {
            underWay = ofRank0();
        }
        assertThat(underWay.orElseThrow().call()).isEqualTo("receive(source=1 tag=7 bytes=4)");
        assertThat(underWay.orElseThrow().sequence()).isZero();
        assertThat(underWay.orElseThrow().nanos()).isBetween(1L, LIMIT.toNanos());
        communicators.get(1).messages().send(0, 7, DataBuffer.of(new int[1]));
        received.get(30, TimeUnit.SECONDS);
        assertThat(ofRank0()).isEmpty();
    }

    private Optional<CommunicatorView.UnderWay> ofRank0() throws Exception {
        return answer().processes().get(0).ranks().stream()
                .filter(rank -> rank.rank() == 0)
                .findFirst()
                .flatMap(RankSnapshot::underWay);
    }

    @Test
    void userSeesBothRanksAndNothingIsLeftAfterwards() throws Exception {
        start(config().build());
        List<RankSnapshot> ranks = answer().processes().get(0).ranks();
        assertThat(ranks).hasSize(2).allSatisfy(rank -> {
            assertThat(rank.phase()).isEqualTo(RankSnapshot.Phase.RUNNING);
            assertThat(rank.size()).isEqualTo(2);
            assertThat(rank.communicator()).isEqualTo(communicators.get(0).id());
        });
        Path socket = entry().path();
        closeCommunicators();
        assertThat(socket).doesNotExist();
        assertThat(Thread.getAllStackTraces().keySet())
                .extracting(Thread::getName)
                .doesNotContain("jccl-status");
    }

    @Test
    void clientWithTheSecretSeesTheJobThroughThePort() throws Exception {
        start(config().build());
        StatusClient.Result result = ask(port(), JobIdentity.of(id).key());
        assertThat(result.answer()).as(result.toString()).isPresent();
        assertThat(result.answer().get().processes().get(0).ranks()).hasSize(2);
    }

    @Test
    void anotherSecretIsRefused() throws Exception {
        start(config().build());
        StatusClient.Result result =
                ask(port(), JobIdentity.ofSecret("another secret").key());
        assertThat(result.answer()).isEmpty();
        assertThat(result.reason()).contains(Absentee.Reason.REFUSED);
        answer(); // the server still answers
    }

    @Test
    void garbageIsDroppedWithoutAnAnswer() throws Exception {
        start(config().build());
        InetSocketAddress port = port();
        try (Socket socket = new Socket(port.getAddress(), port.getPort())) {
            socket.setSoTimeout((int) LIMIT.toMillis());
            socket.getOutputStream().write("G".repeat(Handshake.GREETING_BYTES).getBytes(StandardCharsets.US_ASCII));
            assertThat(socket.getInputStream().read()).isEqualTo(-1);
        }
        try (SocketChannel unix = SocketChannel.open(UnixDomainSocketAddress.of(entry().path()))) {
            unix.write(ByteBuffer.wrap(new byte[] {0x7f, 0, 0, 0})); // a message of 2 GiB
            assertThat(unix.read(ByteBuffer.allocate(1))).isEqualTo(-1);
        }
        answer();
    }

    @Test
    void silentConnectionsAreDroppedAndKeepNoClientOut() throws Exception {
        start(config().build());
        InetSocketAddress port = port();
        int before = Resources.now().descriptors();
        List<Socket> silent = new ArrayList<>();
        try {
            for (int i = 0; i < 200; i++) {
                silent.add(new Socket(port.getAddress(), port.getPort()));
            }
            assertThat(ask(port, JobIdentity.of(id).key()).answer()).isPresent();
            silent.get(199).setSoTimeout((int) LIMIT.toMillis());
            // The server closes the connection after the time limit of a request.
            assertThat(silent.get(199).getInputStream().read()).isEqualTo(-1);
        } finally {
            for (Socket socket : silent) {
                socket.close();
            }
        }
        assertThat(Resources.now().descriptors()).isLessThanOrEqualTo(before + 5);
        answer();
    }

    @Test
    void aDirectoryThatOthersCanWriteIsRefusedByBothSides() throws Exception {
        Path directory = Files.createDirectory(folder.resolve("status"));
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxrwxrwx"));
        try (InitLog log = new InitLog("io.jccl.status.ProcessStatus")) {
            start(config().build()); // succeeds, with a warning
            assertThat(log.lines()).anySatisfy(line -> assertThat(line).contains("mode=rwxrwxrwx"));
        }
        assertThat(directory).isEmptyDirectory();
        assertThatThrownBy(() -> directory().entries())
                .isInstanceOf(IOException.class)
                .hasMessageContaining("mode=rwxrwxrwx")
                .hasMessageContaining("JCCL_STATUS_DIR");
    }

    @Test
    void aDirectoryOfAnotherUserIsRefused() throws Exception {
        Path directory = Files.createDirectory(
                folder.resolve("status"),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        assumeThat(Files.getAttribute(Path.of("/proc/self"), "unix:uid"))
                .as("only root can give a directory away")
                .isEqualTo(0);
        Files.setAttribute(directory, "unix:uid", 12_345);
        assertThatThrownBy(() -> directory().entries())
                .isInstanceOf(IOException.class)
                .hasMessageContaining("owner=12345");
        start(config().build());
        assertThat(directory).isEmptyDirectory();
    }

    @Test
    void socketsOfProcessesThatHaveEndedAreRemoved() throws Exception {
        start(config().build());
        long dead = 4_194_305; // above the largest process id
        Path stale = folder.resolve("status").resolve(dead + ".sock");
        ServerSocketChannel.open(StandardProtocolFamily.UNIX)
                .bind(UnixDomainSocketAddress.of(stale))
                .close();
        assertThat(stale).exists();
        StatusDirectory.Entry entry = new StatusDirectory.Entry(dead, stale);
        assertThat(ask(entry.address(), Optional.empty()).reason()).contains(Absentee.Reason.ENDED);
        closeCommunicators();
        UniqueId second = UniqueId.create();
        try (Communicator alone = Communicator.init(second, 0, 1, config().build())) {
            assertThat(stale).doesNotExist();
            assertThat(alone.size()).isEqualTo(1);
        }
    }

    @Test
    void processThatDisablesItsStatusServerIsNotSeen() throws Exception {
        start(config().setting("JCCL_STATUS", "0").build());
        assertThat(folder.resolve("status")).doesNotExist();
        assertThat(Thread.getAllStackTraces().keySet())
                .extracting(Thread::getName)
                .doesNotContain("jccl-status");
    }
}
