package io.jccl.cli.ps;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.CommunicatorConfig;
import io.jccl.UniqueId;
import io.jccl.config.Settings;
import io.jccl.status.Absentee;
import io.jccl.status.Answer;
import io.jccl.status.JobIdentity;
import io.jccl.status.Request;
import io.jccl.status.StatusDirectory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The command names the rank that holds a real job up, long before any time-out. */
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PsTest {

    private static final String DIRECTORY = "JCCL_STATUS_DIR";

    @TempDir
    Path folder;

    @BeforeEach
    void lookHere() {
        System.setProperty(DIRECTORY, folder.resolve("status").toString());
    }

    @AfterEach
    void lookNowhere() {
        System.clearProperty(DIRECTORY);
    }

    private static List<Diagnosed> look(Optional<Long> pid) throws Exception {
        try (Attached attached = new Attached.Local(StatusDirectory.of(settings()), pid)) {
            return Look.at(attached, "").communicators();
        }
    }

    private static Settings settings() {
        return Settings.load(CommunicatorConfig.defaults());
    }

    /** From another host. */
    private static List<Diagnosed> lookAt(int port, String secret) throws Exception {
        try (Attached attached = new Attached.Remote(
                new InetSocketAddress("127.0.0.1", port),
                JobIdentity.ofSecret(secret).key().orElseThrow())) {
            return Look.at(attached, "").communicators();
        }
    }

    private static Diagnosed await(Optional<Long> pid, Finding.Kind kind) throws Exception {
        return await(() -> look(pid), kind);
    }

    /** What is printed once it names something of a kind, or the last time before the limit. */
    private static Diagnosed await(Callable<List<Diagnosed>> look, Finding.Kind kind) throws Exception {
        long end = System.nanoTime() + 30_000_000_000L;
        while (true) {
            List<Diagnosed> all = look.call();
            if (all.size() == 1 && all.get(0).findings().stream().anyMatch(it -> it.kind() == kind)
                    || System.nanoTime() - end >= 0) {
                assertThat(all).hasSize(1);
                return all.get(0);
            }
            Thread.sleep(50);
        }
    }

    private static void requireNamed(Diagnosed seen, Finding.Kind kind, int rank) {
        String text = PsText.of(List.of(seen), List.of(), List.of(), true, false);
        assertThat(seen.findings()).as(text).isNotEmpty();
        assertThat(seen.findings().get(0).kind()).as(text).isEqualTo(kind);
        assertThat(seen.findings().get(0).ranks()).as(text).isEqualTo(Set.of(rank));
        assertThat(text.lines().findFirst().orElse("")).contains("rank " + rank);
    }

    @ParameterizedTest
    @CsvSource({"2, 1", "2, 0", "3, 1", "8, 5"})
    void namesARankThatNeverCalls(int size, int victim) throws Exception {
        try (PsRanks ranks = PsRanks.start(folder, size, victim, PsRankMain.Fault.ABSENT)) {
            ranks.await(victim, "READY");
            for (int attached : new int[] {0, size - 1}) {
                requireNamed(await(Optional.of(ranks.pid(attached)), Finding.Kind.ABSENT), Finding.Kind.ABSENT, victim);
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"2, 1", "3, 0", "8, 5"})
    void namesAStoppedRank(int size, int victim) throws Exception {
        try (PsRanks ranks = PsRanks.start(folder, size, -1, PsRankMain.Fault.NONE)) {
            ranks.await(victim, "READY");
            ranks.signal(victim, "-STOP");
            try {
                int other = victim == 0 ? 1 : 0;
                requireNamed(await(Optional.of(ranks.pid(other)), Finding.Kind.STOPPED), Finding.Kind.STOPPED, victim);
                // The one that is stopped is asked about itself: others of this host know.
                requireNamed(await(Optional.of(ranks.pid(victim)), Finding.Kind.STOPPED), Finding.Kind.STOPPED, victim);
            } finally {
                ranks.signal(victim, "-CONT");
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"2, 0", "3, 1", "8, 5"})
    void namesASlowRank(int size, int victim) throws Exception {
        try (PsRanks ranks = PsRanks.start(folder, size, victim, PsRankMain.Fault.SLOW)) {
            ranks.await(victim, "READY");
            requireNamed(await(Optional.empty(), Finding.Kind.SLOW), Finding.Kind.SLOW, victim);
        }
    }

    /** Waits of an operation stay below what a moment shows. */
    @Test
    void namesARankThatIsALittleSlow() throws Exception {
        try (PsRanks ranks = PsRanks.start(folder, 3, 1, PsRankMain.Fault.A_LITTLE_SLOW)) {
            ranks.await(1, "READY");
            requireNamed(await(Optional.empty(), Finding.Kind.SLOW), Finding.Kind.SLOW, 1);
        }
    }

    @ParameterizedTest
    @CsvSource({"2, 1", "3, 1", "8, 5"})
    void namesARankThatCalledSomethingElse(int size, int victim) throws Exception {
        try (PsRanks ranks = PsRanks.start(folder, size, victim, PsRankMain.Fault.MISMATCHED)) {
            ranks.await(0, "FAILED");
            Diagnosed seen = await(Optional.empty(), Finding.Kind.FAILED);
            String text = PsText.of(List.of(seen), List.of(), List.of(), true, false);
            assertThat(text.lines().findFirst().orElse(""))
                    .startsWith("FAILED ")
                    .containsPattern("rank " + victim + "( called)? count=100"); // of two neither is the odd one
        }
    }

    @Test
    void namesTheRankThatTheOthersWaitForWhileTheyInitialise() throws Exception {
        try (PsRanks ranks = new PsRanks(folder)) {
            UniqueId id = UniqueId.create();
            for (int rank = 0; rank < 3; rank++) {
                ranks.startProcess(id, rank, 1, 3, 2, PsRankMain.Fault.NOT_INITIALISED, Map.of());
            }
            Diagnosed seen = await(Optional.empty(), Finding.Kind.ABSENT);
            requireNamed(seen, Finding.Kind.ABSENT, 2);
            assertThat(seen.findings().get(0).text()).contains("rendezvous");
        }
    }

    /** Whatever the rank has come to by then: the rendezvous, the coordinator, an exchange, or operations. */
    @ParameterizedTest
    @ValueSource(ints = {200, 500, 700, 1000})
    void namesARankThatIsStoppedAtAnyMomentOfInitialisation(int millis) throws Exception {
        try (PsRanks ranks = new PsRanks(folder)) {
            String rendezvous = "127.0.0.1:" + PsRanks.freePort() + "/a secret";
            for (int rank : new int[] {0, 2, 1}) {
                ranks.startLaunched(rank, 3, rendezvous, 0);
            }
            Thread.sleep(millis);
            ranks.signal(2, "-STOP"); // rank 1, which was started last
            try {
                Diagnosed seen = awaitNamed(() -> look(Optional.of(ranks.pid(0))), 1);
                String text = PsText.of(List.of(seen), List.of(), List.of(), true, false);
                assertThat(seen.findings()).as(text).isNotEmpty();
                assertThat(seen.findings().get(0).ranks()).as(text).isEqualTo(Set.of(1));
            } finally {
                ranks.signal(2, "-CONT");
            }
        }
    }

    /** What is seen once only this rank is named first: others may still be on their way. */
    private static Diagnosed awaitNamed(Callable<List<Diagnosed>> look, int rank) throws Exception {
        long end = System.nanoTime() + 30_000_000_000L;
        Diagnosed last = null;
        while (System.nanoTime() - end < 0) {
            try {
                List<Diagnosed> all = look.call();
                last = all.size() == 1 ? all.get(0) : last;
                if (last != null
                        && !last.findings().isEmpty()
                        && last.findings().get(0).ranks().equals(Set.of(rank))) {
                    return last;
                }
            } catch (IOException e) {
                assertThat(e).hasMessageContaining("it has no communicator"); // it is just starting
            }
            Thread.sleep(50);
        }
        return last;
    }

    @Test
    void stillAnswersWhenRankZeroIsGone() throws Exception {
        try (PsRanks ranks = PsRanks.start(folder, 3, -1, PsRankMain.Fault.NONE)) {
            ranks.await(2, "READY");
            ranks.process(0).destroyForcibly().waitFor();
            ranks.await(1, "FAILED");
            ranks.await(2, "FAILED");
            Diagnosed seen = await(Optional.of(ranks.pid(2)), Finding.Kind.FAILED);
            requireNamed(seen, Finding.Kind.FAILED, 0);
            assertThat(seen.sample().ranks().get(0).absentee().orElseThrow().reason())
                    .isEqualTo(Absentee.Reason.ENDED);
        }
    }

    /** Rank 0 has the rendezvous server, so that it knows; and from another host only its port and the secret lead there. */
    @Test
    void whoKnowsTheSecretSeesWhoIsMissingAtTheRendezvous() throws Exception {
        try (PsRanks ranks = new PsRanks(folder)) {
            int rendezvous = PsRanks.freePort();
            int status = PsRanks.freePort();
            for (int rank = 0; rank < 3; rank++) {
                if (rank != 1) {
                    ranks.startLaunched(rank, 3, "127.0.0.1:" + rendezvous + "/a secret", status + rank);
                }
            }
            requireNamed(awaitNamed(() -> look(Optional.empty()), 1), Finding.Kind.ABSENT, 1);
            Diagnosed remote = awaitNamed(() -> lookAt(status, "a secret"), 1);
            requireNamed(remote, Finding.Kind.ABSENT, 1);
            assertThat(remote.findings().get(0).text()).contains("the rendezvous server waits");
            ranks.startLaunched(1, 3, "127.0.0.1:" + rendezvous + "/a secret", 0); // and then all is well
            ranks.await(2, "READY");
            assertThat(lookAt(status, "a secret").get(0).sample().ranks()).hasSize(3);
            assertThatThrownBy(() -> lookAt(status, "another"))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("refuses");
        }
    }

    @Test
    void everyRankDumpsWhereItIsAsked() throws Exception {
        Path dumps = folder.resolve("dumps");
        try (PsRanks ranks = PsRanks.start(folder, 2, 1, PsRankMain.Fault.ABSENT)) {
            ranks.await(1, "READY");
            try (Attached attached = new Attached.Local(StatusDirectory.of(settings()), Optional.of(ranks.pid(0)))) {
                List<Answer> answers = attached.ask(new Request(Request.Kind.JOB, "", 0, dumps.toString()));
                assertThat(answers.get(0).processes()).hasSize(2).allSatisfy(process -> assertThat(process.dumps())
                        .hasSize(1));
            }
            try (Stream<Path> files = Files.list(dumps)) {
                assertThat(files).hasSize(2);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {16, 64})
    void namesOneOfManyThreads(int size) throws Exception {
        try (PsRanks ranks = new PsRanks(folder)) {
            UniqueId id = UniqueId.create();
            int victim = size - 3;
            ranks.startProcess(id, 0, size, size, victim, PsRankMain.Fault.ABSENT, Map.of());
            ranks.await(0, "READY " + victim);
            Diagnosed seen = await(Optional.of(ranks.pid(0)), Finding.Kind.ABSENT);
            requireNamed(seen, Finding.Kind.ABSENT, victim);
            String text = PsText.of(List.of(seen), List.of(), List.of(), false, false);
            assertThat(text.lines().count()).as(text).isLessThan(20);
        }
    }

    @Test
    void saysThatAHealthyJobIsFine() throws Exception {
        try (PsRanks ranks = PsRanks.start(folder, 2, -1, PsRankMain.Fault.NONE)) {
            ranks.await(1, "READY");
            List<Diagnosed> all = look(Optional.empty());
            String text = PsText.of(all, List.of(), List.of(), true, false);
            assertThat(text).startsWith("OK ");
        }
    }
}
