package io.jccl.membership;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.BootstrapException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.PeerFailedException;
import io.jccl.UniqueId;
import io.jccl.launch.Launch;
import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.rendezvous.Connector;
import io.jccl.rendezvous.FrameStream;
import io.jccl.rendezvous.RankRegistration;
import io.jccl.wire.FrameType;
import io.jccl.wire.Handshake;
import io.jccl.wire.Limits;
import io.jccl.wire.WireWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests failures during the initialisation of a group: the other ranks continue, or all ranks fail with the same
 * reason.
 */
@Timeout(120)
class GroupInitializationTest {

    private static Callable<Bootstrap> joining(UniqueId id, int rank, int size, BootstrapOptions options) {
        return () -> Bootstrap.join(id, rank, size, options);
    }

    /** Lets rank 0 and an offender join: exactly one is refused, with the message. Then rank 1 completes the group. */
    private static void assertOffenderRefused(Callable<Bootstrap> offender, UniqueId id, String message)
            throws InterruptedException {
        assertOffenderRefused(joining(id, 0, 2, Ranks.options()), offender, id, message);
    }

    private static void assertOffenderRefused(
            Callable<Bootstrap> zero, Callable<Bootstrap> offender, UniqueId id, String message)
            throws InterruptedException {
        CountDownLatch refused = new CountDownLatch(1);
        List<Ranks.Outcome<Bootstrap>> outcomes =
                Ranks.together(List.of(countingDown(refused, zero), countingDown(refused, offender), () -> {
                    assertThat(refused.await(20, TimeUnit.SECONDS)).isTrue();
                    return Bootstrap.join(id, 1, 2, Ranks.options());
                }));
        assertThat(outcomes.stream().map(Ranks.Outcome::error).filter(Objects::nonNull))
                .singleElement()
                .satisfies(e ->
                        assertThat(e).isInstanceOf(BootstrapException.class).hasMessageContaining(message));
        Ranks.close(outcomes.stream()
                .map(Ranks.Outcome::value)
                .filter(Objects::nonNull)
                .toList());
    }

    private static Callable<Bootstrap> countingDown(CountDownLatch done, Callable<Bootstrap> task) {
        return () -> {
            try {
                return task.call();
            } finally {
                done.countDown();
            }
        };
    }

    @Test
    void aDuplicateRankIsRefusedAndTheOthersContinue() throws Exception {
        UniqueId id = Bootstrap.createId(Ranks.options());
        assertOffenderRefused(joining(id, 0, 2, Ranks.options()), id, "rank=0 is taken by remote=");
    }

    @Test
    void aRankOfAnotherSizeIsRefusedWhetherItComesBeforeOrAfterRankZero() throws Exception {
        UniqueId after = Bootstrap.createId(Ranks.options());
        String message = "rank=1 came with size=3, rank 0 says size=2";
        Callable<Bootstrap> late = delayed(joining(after, 1, 3, Ranks.options()));
        assertOffenderRefused(late, after, message);
        UniqueId before = Bootstrap.createId(Ranks.options());
        Callable<Bootstrap> lateZero = delayed(joining(before, 0, 2, Ranks.options()));
        assertOffenderRefused(lateZero, joining(before, 1, 3, Ranks.options()), before, message);
    }

    private static Callable<Bootstrap> delayed(Callable<Bootstrap> task) {
        return () -> {
            Thread.sleep(100);
            return task.call();
        };
    }

    @Test
    void aRankOfAnotherVersionIsRefusedWithItsVersion() throws Exception {
        UniqueId id = Bootstrap.createId(Ranks.options());
        BootstrapOptions other = BootstrapOptions.defaults("0.9 build abc")
                .withInitTimeout(Ranks.SOON)
                .withInterfaces("lo", "AF_INET");
        assertOffenderRefused(
                joining(id, 1, 2, other),
                id,
                "rank=1 runs version=\"0.9 build abc\", the group runs version=\"test 1\"");
    }

    @Test
    void aWrongSecretIsRefusedAndTheOthersContinue() throws Exception {
        UniqueId id = Bootstrap.createId(Ranks.options());
        UniqueId wrong = UniqueId.of(id.addresses(), new byte[UniqueId.SECRET_BYTES]);
        assertOffenderRefused(joining(wrong, 1, 2, Ranks.options()), id, "the secret of the id is not the group's");
    }

    @Test
    void theRankThatGivesUpFirstNamesTheMissingRanksForAll() throws Exception {
        BootstrapOptions options = Ranks.options().withInitTimeout(Duration.ofSeconds(4));
        UniqueId id = Bootstrap.createId(options);
        List<Callable<Bootstrap>> tasks = new ArrayList<>();
        for (int rank : new int[] {0, 1, 2, 4, 5, 6}) {
            tasks.add(joining(id, rank, 8, options));
        }
        for (Ranks.Outcome<Bootstrap> outcome : Ranks.together(tasks)) {
            assertThat(outcome.error())
                    .isInstanceOfSatisfying(CommunicationTimeoutException.class, e -> assertThat(e.missingRanks())
                            .containsExactly(3, 7))
                    .hasMessageStartingWith("ranks 3 and 7 did not join within 4 s (6 of 8 arrived); ");
        }
    }

    @Test
    void theRendezvousServerNamesTheMissingRanksIfRankZeroIsMissing() throws Exception {
        BootstrapOptions options = Ranks.options().withInitTimeout(Duration.ofSeconds(2));
        UniqueId id = Bootstrap.createId(options);
        assertThatThrownBy(() -> Bootstrap.join(id, 1, 3, options))
                .isInstanceOf(CommunicationTimeoutException.class)
                .hasMessageStartingWith("ranks 0 and 2 did not join within 2 s (1 of 3 arrived); ");
    }

    @Test
    void aRendezvousServerThatHasEndedIsReportedAtOnceWithEveryTriedAddress() throws Exception {
        int port;
        try (ServerSocket closed = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = closed.getLocalPort();
        }
        UniqueId id = UniqueId.of(
                List.of(new InetSocketAddress("127.0.0.1", port), new InetSocketAddress("127.0.0.2", port)),
                new byte[UniqueId.SECRET_BYTES]);
        long start = System.nanoTime();
        assertThatThrownBy(() -> Bootstrap.join(id, 1, 2, Ranks.options()))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("the process that created the id has ended")
                .hasMessageContaining("/127.0.0.1:" + port + "  connect: Connection refused")
                .hasMessageContaining("/127.0.0.2:" + port);
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(2));
    }

    @Test
    void theSecondAddressIsUsedWhenTheFirstDoesNotAnswer() throws Exception {
        UniqueId id = Bootstrap.createId(Ranks.options());
        int port = id.addresses().get(0).getPort();
        UniqueId detour = UniqueId.of(
                List.of(
                        new InetSocketAddress("127.0.0.77", port),
                        id.addresses().get(0)),
                id.secret());
        Ranks.close(Ranks.values(
                Ranks.together(List.of(joining(id, 0, 2, Ranks.options()), joining(detour, 1, 2, Ranks.options())))));
    }

    @Test
    void ranksAndSizesOutOfRangeAreIllegalArguments() {
        UniqueId id = UniqueId.of(List.of(new InetSocketAddress("127.0.0.1", 1)), new byte[UniqueId.SECRET_BYTES]);
        assertThatThrownBy(() -> Bootstrap.join(id, 2, 2, Ranks.options()))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> Bootstrap.join(id, 0, 0, Ranks.options()))
                .isInstanceOf(IllegalArgumentException.class);
    }

    /** The rank registers and never connects to the coordinator: only the rendezvous server sees it leave. */
    @Test
    void aRankThatEndsBetweenRendezvousAndCoordinatorIsNamedAtOnce() throws Exception {
        lastRankOfThreeLeaves(false, "rank 2, which had come from");
    }

    @Test
    void aRankThatLeavesBeforeItReachesTheCoordinatorIsQuoted() throws Exception {
        lastRankOfThreeLeaves(true, "rank 2 gave up: no thread is left");
    }

    private static void lastRankOfThreeLeaves(boolean saysWhy, String expected) throws Exception {
        UniqueId id = Bootstrap.createId(Ranks.options());
        Connector.ServerAddress server = new Connector.ServerAddress(id.addresses(), id.secret());
        List<Ranks.Outcome<Bootstrap>> outcomes =
                Ranks.together(List.of(joining(id, 0, 3, Ranks.options()), joining(id, 1, 3, Ranks.options()), () -> {
                    long deadline = System.nanoTime() + Ranks.SOON.toNanos();
                    Connector connector = new Connector(
                            Handshake.Purpose.RENDEZVOUS, "rank 2", false, Connector.IfRefused.SERVER_ENDED, 0);
                    try (FrameStream rendezvous = connector.connect(() -> server, deadline)) {
                        RankRegistration.Hello hello = new RankRegistration.Hello("test 1", 2, 3, -1, "", new byte[0]);
                        rendezvous.awaitWelcome("rank 2", hello, false, Ranks.SOON.toMillis(), deadline);
                        if (saysWhy) {
                            rendezvous.writeFrame(
                                    FrameType.REPORT, new WireWriter().text("no thread is left", Limits.MAX_TEXT));
                        }
                    }
                    return null;
                }));
        for (Ranks.Outcome<Bootstrap> outcome : outcomes.subList(0, 2)) {
            assertThat(outcome.error())
                    .isInstanceOfSatisfying(PeerFailedException.class, e -> assertThat(e.failedRanks())
                            .containsExactly(2))
                    .hasMessageContaining(expected);
        }
    }

    private static List<Bootstrap> launch(Launch.Rendezvous rendezvous, int generation) throws InterruptedException {
        List<Callable<Bootstrap>> tasks = new ArrayList<>();
        for (int rank = 2; rank >= 0; rank--) {
            Launch launch = new Launch("test", rank, 3, OptionalInt.empty(), rendezvous);
            tasks.add(() -> Bootstrap.join(launch, generation, Ranks.options()));
        }
        return Ranks.values(Ranks.together(tasks));
    }

    @Test
    void ranksMeetAtTheSamePortRepeatedly() throws Exception {
        int port;
        try (ServerSocket closed = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = closed.getLocalPort();
        }
        Launch.Address address = new Launch.Address("127.0.0.1", port, new Launch.Secret("abc"), false);
        List<Bootstrap> first = launch(address, 0);
        List<Bootstrap> second = launch(address, 1);
        assertThat(first.get(0).sessionId()).isNotEqualTo(second.get(0).sessionId());
        Ranks.close(first);
        Ranks.close(second);
    }

    @Test
    void ranksMeetByAFileEvenIfAnOldFileExists(@TempDir Path directory) throws Exception {
        Path file = directory.resolve("rendezvous");
        Files.writeString(
                file,
                UniqueId.of(List.of(new InetSocketAddress("127.0.0.1", 1)), new byte[UniqueId.SECRET_BYTES])
                        .toText());
        Ranks.close(launch(new Launch.SharedFile(file), 0));
        assertThat(file).doesNotExist();
        assertThat(directory).isEmptyDirectory();
    }
}
