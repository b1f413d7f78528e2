package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.BootstrapException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.ReduceOp;
import io.jccl.TransportKind;
import io.jccl.UniqueId;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Reform: ranks leave and processes join. Here both are threads; {@link ElasticRoundsTest} kills processes. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ReformTest {

    private static final Duration SHORT = Duration.ofMillis(700L * LocalRanks.SLOWNESS);

    @TempDir
    Path folder;

    private final ExecutorService threads = Executors.newCachedThreadPool(work -> {
        Thread thread = new Thread(work, "test-joiner");
        thread.setDaemon(true);
        return thread;
    });

    @AfterEach
    void endThreads() {
        threads.shutdownNow();
    }

    private Future<Communicator> joining(LocalRanks ranks, Collection<String> members) {
        return joining(ranks, members, LocalRanks.config().build());
    }

    private Future<Communicator> joining(LocalRanks ranks, Collection<String> members, CommunicatorConfig config) {
        return threads.submit(() -> Communicator.join(ranks.id(), members, config));
    }

    private static Communicator get(Future<Communicator> joining) throws Exception {
        try {
            return joining.get(60, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof JcclException cause ? cause : e;
        }
    }

    private static CommunicatorConfig within(Duration initTimeout) {
        return LocalRanks.config().initTimeout(initTimeout).build();
    }

    private static List<Integer> all(Communicator comm) {
        List<Integer> ranks = new ArrayList<>();
        for (int rank = 0; rank < comm.size(); rank++) {
            ranks.add(rank);
        }
        return ranks;
    }

    private static void close(List<Communicator> group) {
        group.forEach(Communicator::close);
    }

    private static String sum(Communicator comm) {
        long[] value = {1L << comm.rank()};
        comm.allReduce(DataBuffer.of(value), ReduceOp.SUM).await();
        return comm.rank() + "/" + comm.size() + " generation=" + comm.generation() + " sum=" + value[0];
    }

    /** All-reduces on all communicators at the same time, those of old ranks and of new ones. Returns the sums. */
    private List<String> together(List<Communicator> all) throws Exception {
        List<Future<String>> running = new ArrayList<>();
        for (Communicator comm : all) {
            Callable<String> task = () -> sum(comm);
            running.add(threads.submit(task));
        }
        List<String> results = new ArrayList<>();
        for (Future<String> one : running) {
            results.add(one.get(60, TimeUnit.SECONDS));
        }
        return results;
    }

    @Test
    void asManyProcessesJoinAsRanksAreReplaced() throws Exception {
        try (LocalRanks ranks = LocalRanks.start(3)) {
            Future<Communicator> joining = joining(ranks, ranks.get(0).memberAddresses());
            Future<Communicator> zero = ranks.submit(0, comm -> comm.replace(Set.of(1)));
            Future<Communicator> two = ranks.submit(2, comm -> comm.replace(Set.of(1)));
            List<Communicator> next = List.of(get(zero), get(two), get(joining));
            assertThat(together(next))
                    .containsExactly("0/3 generation=1 sum=7", "1/3 generation=1 sum=7", "2/3 generation=1 sum=7");
            close(next);
        }
    }

    @Test
    void replacementOfTheCallerOrOfAnUnknownRankIsRefused() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            assertThatThrownBy(() -> ranks.get(0).replace(Set.of(2)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("excludedRanks={2} size=2");
            assertThatThrownBy(() -> ranks.get(0).replace(Set.of(0)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("excludedRanks={0} rank=0");
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"SHM", "SOCKET", "P2P"})
    void aHealthyCommunicatorGrows(TransportKind kind) throws Exception {
        CommunicatorConfig config = LocalRanks.config().transport(kind).build();
        try (LocalRanks ranks = LocalRanks.start(2, config)) {
            Future<Communicator> joining = joining(ranks, ranks.get(1).memberAddresses(), config);
            List<Communicator> next = new ArrayList<>(ranks.call(comm -> comm.reform(all(comm), 1)));
            next.add(get(joining));
            assertThat(together(next))
                    .containsExactly("0/3 generation=1 sum=7", "1/3 generation=1 sum=7", "2/3 generation=1 sum=7");
            assertThat(next).allSatisfy(comm -> assertThat(comm.id())
                    .endsWith("-g1")
                    .isEqualTo(next.get(0).id()));
            assertThat(ranks.call(comm -> sum(comm)).get(0)).isEqualTo("0/2 generation=0 sum=3");
            close(next);
        }
    }

    /** Rank 0 leaves as planned in both rounds, so the coordinator moves each time. */
    @Test
    void ranksThatLeaveAreReplacedTwiceInARow() throws Exception {
        LocalRanks ranks = LocalRanks.start(3);
        List<Communicator> group = List.of(ranks.get(0), ranks.get(1), ranks.get(2));
        for (int round = 1; round <= 2; round++) {
            Future<Communicator> joining = joining(ranks, group.get(2).memberAddresses());
            List<Future<Communicator>> survivors = new ArrayList<>();
            for (Communicator comm : group.subList(1, 3)) {
                survivors.add(threads.submit(() -> {
                    Communicator next = comm.reform(List.of(1, 2), 1);
                    comm.close();
                    return next;
                }));
            }
            group.get(0).close();
            group = List.of(get(survivors.get(0)), get(survivors.get(1)), get(joining));
            String end = "/3 generation=" + round + " sum=7";
            assertThat(together(group)).containsExactly("0" + end, "1" + end, "2" + end);
        }
        close(group);
    }

    /** The process asks a rank that does not lead, which names the leader. */
    @Test
    void processFindsTheLeaderThroughAnyMember() throws Exception {
        try (LocalRanks ranks = LocalRanks.start(3)) {
            List<String> last = List.of(ranks.get(0).memberAddresses().get(2));
            Future<Communicator> joining = joining(ranks, last);
            List<Communicator> next = new ArrayList<>(ranks.call(comm -> comm.reform(all(comm), 1)));
            next.add(get(joining));
            assertThat(together(next)).contains("3/4 generation=1 sum=15");
            close(next);
        }
    }

    @Test
    void processesThatJoinAreOrderedByThePreferredRank() throws Exception {
        try (LocalRanks ranks = LocalRanks.start(1)) {
            List<String> members = ranks.get(0).memberAddresses();
            Future<Communicator> seven = joining(
                    ranks,
                    members,
                    LocalRanks.config().setting("JCCL_RANK", "7").build());
            Future<Communicator> none = joining(ranks, members);
            Future<Communicator> three = joining(
                    ranks,
                    members,
                    LocalRanks.config().setting("JCCL_RANK", "3").build());
            Communicator next = ranks.call(comm -> comm.reform(all(comm), 3)).get(0);
            assertThat(get(three).rank()).isEqualTo(1);
            assertThat(get(seven).rank()).isEqualTo(2);
            assertThat(get(none).rank()).isEqualTo(3);
            close(List.of(next, get(three), get(seven), get(none)));
        }
    }

    @Test
    void timeOutOfAReformSaysHowManyProcessesCame() throws Exception {
        try (LocalRanks ranks = LocalRanks.start(2, within(SHORT))) {
            Future<Communicator> joining =
                    joining(ranks, ranks.get(0).memberAddresses(), within(SHORT.multipliedBy(3)));
            ranks.run(comm -> assertThatThrownBy(() -> comm.reform(all(comm), 2))
                    .isInstanceOfSatisfying(CommunicationTimeoutException.class, e -> assertThat(e.missingRanks())
                            .isEmpty())
                    .hasMessageContaining("1 of 2 processes came to join within "));
            assertThatThrownBy(() -> get(joining))
                    .isInstanceOf(CommunicationTimeoutException.class)
                    .hasMessageContaining("was not taken in within initTimeoutMillis=")
                    .hasMessageContaining("Addresses tried:");
            ranks.run(comm -> comm.reform(all(comm), 0).close());
        }
    }

    @Test
    void aProcessOfAnotherJobIsRefused() throws Exception {
        try (LocalRanks ranks = LocalRanks.start(2, within(Duration.ofSeconds(3)));
                LocalRanks others = LocalRanks.start(1)) {
            Future<Communicator> joining = threads.submit(
                    () -> Communicator.join(others.id(), ranks.get(0).memberAddresses(), within(SHORT)));
            ranks.run(comm -> assertThatThrownBy(() -> comm.reform(all(comm), 1))
                    .isInstanceOf(CommunicationTimeoutException.class)
                    .hasMessageContaining("0 of 1 processes came to join"));
            assertThatThrownBy(() -> get(joining))
                    .isInstanceOf(BootstrapException.class)
                    .hasMessageContaining("its secret is not the job's")
                    .hasMessageContaining("refused our proof of the secret");
        }
    }

    @Test
    void aProcessThatNobodyAwaitsGetsATimeOutWithAllAddresses() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            List<String> members = ranks.get(0).memberAddresses();
            assertThatThrownBy(() -> Communicator.join(ranks.id(), members, within(SHORT)))
                    .isInstanceOf(CommunicationTimeoutException.class)
                    .hasMessageContaining("do the ranks of the job call reform(survivors, joiners)")
                    .hasMessageContaining(members.get(1).split(",")[0]);
        }
    }

    /** Of two processes that ask for one place, one joins. The other waits and joins in the next reform. */
    @Test
    void processesWithoutAPlaceWaitForTheNextReform() throws Exception {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            List<String> members = new ArrayList<>(ranks.get(0).memberAddresses());
            Future<Communicator> one = joining(ranks, members);
            Future<Communicator> other = joining(ranks, members);
            List<Communicator> next = ranks.call(comm -> comm.reform(all(comm), 1));
            while (!one.isDone() && !other.isDone()) {
                Thread.onSpinWait();
            }
            Communicator joined = get(one.isDone() ? one : other);
            Future<Communicator> waits = one.isDone() ? other : one;
            assertThat(waits.isDone()).isFalse();
            List<Communicator> again = ranks.call(comm -> comm.reform(all(comm), 1));
            assertThat(get(waits).rank()).isEqualTo(2);
            get(waits).close();
            close(again);
            joined.close();
            close(next);
        }
    }

    /** A process that leaves before all have come frees its place. */
    @Test
    void aProcessThatLeavesWhileItWaitsIsReplaced() throws Exception {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            List<String> members = ranks.get(0).memberAddresses();
            Future<Communicator> leaves = joining(ranks, members);
            Future<Communicator> early = ranks.submit(0, comm -> comm.reform(all(comm), 1));
            Thread.sleep(300); // time to register at rank 0
            assertThat(leaves.cancel(true)).isTrue();
            Future<Communicator> joining = joining(ranks, members);
            Thread.sleep(100);
            Future<Communicator> late = ranks.submit(1, comm -> comm.reform(all(comm), 1));
            List<Communicator> next = List.of(get(early), get(late), get(joining));
            assertThat(together(next)).contains("2/3 generation=1 sum=7");
            close(next);
        }
    }

    @Test
    void anInterruptEndsTheWaitForAPlace() throws Exception {
        try (LocalRanks ranks = LocalRanks.start(1)) {
            List<String> members = ranks.get(0).memberAddresses();
            Thread[] thread = new Thread[1];
            Future<?> joining = threads.submit(() -> {
                thread[0] = Thread.currentThread();
                assertThatThrownBy(() -> Communicator.join(ranks.id(), members))
                        .isInstanceOf(InterruptedCommunicationException.class)
                        .hasMessageContaining("the process that joins was interrupted");
            });
            Thread.sleep(200);
            thread[0].interrupt();
            joining.get(10, TimeUnit.SECONDS);
        }
    }

    @Test
    void interruptOfARankEndsTheReformOnAllRanks() throws Exception {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            Thread[] thread = new Thread[2];
            List<Future<String>> reforming = new ArrayList<>();
            for (int rank = 0; rank < 2; rank++) {
                reforming.add(ranks.submit(rank, comm -> {
                    thread[comm.rank()] = Thread.currentThread();
                    try {
                        comm.reform(all(comm), 1).close();
                        return "went on";
                    } catch (JcclException e) {
                        return e.getClass().getSimpleName() + " " + e.getMessage();
                    } finally {
                        Thread.interrupted();
                    }
                }));
            }
            Thread.sleep(500);
            thread[1].interrupt();
            assertThat(reforming.get(1).get(10, TimeUnit.SECONDS)).startsWith("InterruptedCommunicationException");
            assertThat(reforming.get(0).get(10, TimeUnit.SECONDS)).startsWith("PeerFailedException");
        }
    }

    @Test
    void ranksThatAwaitDifferentNumbersOfProcessesGetAnError() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> assertThatThrownBy(() -> comm.reform(all(comm), comm.rank()))
                    .isInstanceOf(BootstrapException.class)
                    .hasMessageContaining("exclude different ones:")
                    .hasMessageContaining("excludes {} and awaits joiners=1"));
        }
    }

    @Test
    void badArgumentsAreRefused() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            Communicator comm = ranks.get(0);
            assertThatThrownBy(() -> comm.reform(List.of(1), 1))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("survivors={1} rank=0: a rank that leaves does not call this");
            assertThatThrownBy(() -> comm.reform(List.of(0, 2), 1))
                    .hasMessageContaining("survivors={0,2} size=2: expected ranks from 0 to 1");
            assertThatThrownBy(() -> comm.reform(List.of(0, 1), -1))
                    .hasMessageContaining("joiners=-1 survivors={0,1}: expected 0 to 65534");
            assertThatThrownBy(() -> Communicator.join(ranks.id(), List.of("nowhere")))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("members=\"nowhere\": no port");
            assertThatThrownBy(() -> Communicator.join(ranks.id(), List.of()))
                    .hasMessageContaining("members=\"\": no address");
        }
    }

    /** A launcher of a cluster knows the ports before the ranks start. */
    @Test
    void processJoinsThroughAPortThatIsKnownInAdvance() throws Exception {
        int port;
        try (ServerSocket free = new ServerSocket(0)) {
            port = free.getLocalPort();
        }
        CommunicatorConfig config = LocalRanks.config()
                .setting("JCCL_MEMBER_PORT", Integer.toString(port))
                .build();
        try (LocalRanks ranks = LocalRanks.start(1, config)) {
            List<Communicator> group = List.of(ranks.get(0));
            for (int round = 1; round <= 3; round++) {
                Future<Communicator> joining = joining(ranks, List.of("localhost:" + port));
                Communicator before = group.get(0);
                Communicator next = before.reform(List.of(0), 1);
                if (round > 1) {
                    close(group);
                }
                group = List.of(next, get(joining));
                assertThat(together(group)).contains("1/2 generation=" + round + " sum=3");
            }
            close(group);
        }
    }

    @Test
    void processJoinsThroughTheFileOfAnyRank() throws Exception {
        CommunicatorConfig config = LocalRanks.config()
                .setting("JCCL_MEMBER_FILE", folder.resolve("member-0").toString())
                .build();
        CommunicatorConfig joins =
                LocalRanks.config().setting("JCCL_JOIN", "file:" + folder).build();
        UniqueId id = UniqueId.create();
        Communicator first = Communicator.init(id, 0, 1, config);
        try (Communicator part = first.split(0, 0).orElseThrow()) {
            // The member file still names the first communicator, not the split one.
            assertThat(part.generation()).isZero();
            Future<Communicator> joining = threads.submit(() -> Communicator.fromEnvironment(joins));
            List<Communicator> next = List.of(first.reform(List.of(0), 1), get(joining));
            assertThat(together(next)).contains("1/2 generation=1 sum=3");
            close(next);
        }
        first.close();
    }
}
