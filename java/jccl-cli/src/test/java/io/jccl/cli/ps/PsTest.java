package io.jccl.cli.ps;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.CommunicatorConfig;
import io.jccl.UniqueId;
import io.jccl.config.Settings;
import io.jccl.diagnosis.Diagnosis;
import io.jccl.diagnosis.Finding;
import io.jccl.status.Absentee;
import io.jccl.status.Answer;
import io.jccl.status.JobIdentity;
import io.jccl.status.Request;
import io.jccl.status.StatusDirectory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
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

/** Tests that {@code jccl ps} names the rank that holds up a real job, long before any time-out. */
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PsTest {

    private static final String DIRECTORY = "JCCL_STATUS_DIR";

    @TempDir
    Path folder;

    @BeforeEach
    void useStatusDirectory() {
        System.setProperty(DIRECTORY, folder.resolve("status").toString());
    }

    @AfterEach
    void forgetStatusDirectory() {
        System.clearProperty(DIRECTORY);
    }

    private static List<Diagnosis> look(Optional<Long> pid) throws Exception {
        try (Attached attached = new Attached.Local(StatusDirectory.of(settings()), pid, "")) {
            return Look.at(attached, "").communicators();
        }
    }

    private static Settings settings() {
        return Settings.load(CommunicatorConfig.defaults());
    }

    /** Inspects a job through its status port, as from another host. */
    private static List<Diagnosis> lookAt(int port, String secret) throws Exception {
        try (Attached attached = new Attached.Remote(
                new InetSocketAddress("127.0.0.1", port),
                JobIdentity.ofSecret(secret).key().orElseThrow())) {
            return Look.at(attached, "").communicators();
        }
    }

    /**
     * Inspects the job repeatedly until the first finding is of one of {@code kinds} and names only {@code rank}.
     * Earlier findings may name other ranks, which can be late for a moment.
     */
    private static Diagnosis awaitNamed(Callable<List<Diagnosis>> look, Set<Finding.Kind> kinds, int rank)
            throws Exception {
        long end = System.nanoTime() + 30_000_000_000L;
        String text = "nothing";
        String refusal = "";
        while (System.nanoTime() - end < 0) {
            List<Diagnosis> all = List.of();
            try {
                all = look.call();
            } catch (IOException e) {
                refusal = e.getMessage();
                assertThat(e).hasMessageContaining("it has no communicator"); // the process is just starting
            }
            text = PsText.of(all, List.of(), List.of(), true, false);
            if (all.size() == 1 && !all.get(0).findings().isEmpty()) {
                Finding first = all.get(0).findings().get(0);
                if (kinds.contains(first.kind()) && first.ranks().equals(Set.of(rank))) {
                    assertThat(text.lines().findFirst().orElse("")).contains("rank " + rank);
                    return all.get(0);
                }
            }
            Thread.sleep(50);
        }
        throw new AssertionError("rank " + rank + " was not named as one of " + kinds + ": " + text + refusal);
    }

    private static Diagnosis awaitNamed(Optional<Long> pid, Finding.Kind kind, int rank) throws Exception {
        return awaitNamed(() -> look(pid), EnumSet.of(kind), rank);
    }

    @ParameterizedTest
    @CsvSource({"2, 1", "2, 0", "3, 1", "8, 5"})
    void namesARankThatNeverCalls(int size, int victim) throws Exception {
        try (PsRanks ranks = PsRanks.start(folder, size, victim, PsRankMain.Fault.ABSENT)) {
            ranks.await(victim, "READY");
            for (int attached : new int[] {0, size - 1}) {
                awaitNamed(Optional.of(ranks.pid(attached)), Finding.Kind.ABSENT, victim);
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
                awaitNamed(Optional.of(ranks.pid(other)), Finding.Kind.STOPPED, victim);
                // The stopped process cannot answer for itself, but other processes of this host know that it is
                // stopped.
                awaitNamed(Optional.of(ranks.pid(victim)), Finding.Kind.STOPPED, victim);
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
            awaitNamed(Optional.empty(), Finding.Kind.SLOW, victim);
        }
    }

    /** Each wait for the slow rank is so short that one inspection does not show it. */
    @Test
    void namesARankThatIsALittleSlow() throws Exception {
        try (PsRanks ranks = PsRanks.start(folder, 3, 1, PsRankMain.Fault.A_LITTLE_SLOW)) {
            ranks.await(1, "READY");
            awaitNamed(Optional.empty(), Finding.Kind.SLOW, 1);
        }
    }

    @ParameterizedTest
    @CsvSource({"2, 1", "3, 1", "8, 5"})
    void namesARankThatCalledSomethingElse(int size, int victim) throws Exception {
        try (PsRanks ranks = PsRanks.start(folder, size, victim, PsRankMain.Fault.MISMATCHED)) {
            ranks.await(0, "FAILED");
            String text = PsText.of(look(Optional.empty()), List.of(), List.of(), true, false);
            assertThat(text.lines().findFirst().orElse(""))
                    .startsWith("FAILED ")
                    .containsPattern("rank " + victim + "( called)? count=100"); // of two ranks, either can be named
        }
    }

    @Test
    void namesTheRankThatTheOthersWaitForWhileTheyInitialise() throws Exception {
        try (PsRanks ranks = new PsRanks(folder)) {
            UniqueId id = UniqueId.create();
            for (int rank = 0; rank < 3; rank++) {
                ranks.startProcess(id, rank, 1, 3, 2, PsRankMain.Fault.NOT_INITIALISED, Map.of());
            }
            Diagnosis seen = awaitNamed(Optional.empty(), Finding.Kind.ABSENT, 2);
            assertThat(seen.findings().get(0).text()).contains("rendezvous");
        }
    }

    /**
     * Depending on {@code millis}, the rank is stopped at the rendezvous, at the coordinator, in an exchange or in an
     * operation.
     */
    @ParameterizedTest
    @ValueSource(ints = {200, 500, 700, 1000})
    void namesARankThatIsStoppedAtAnyMomentOfInitialisation(int millis) throws Exception {
        try (PsRanks ranks = new PsRanks(folder)) {
            String rendezvous = "127.0.0.1:" + PsRanks.freePort() + "/a secret";
            for (int rank : new int[] {0, 2, 1}) {
                ranks.startLaunched(rank, 3, rendezvous, 0);
            }
            Thread.sleep(millis);
            ranks.signal(2, "-STOP"); // process 2 is rank 1: it was the last to start
            try {
                awaitNamed(() -> look(Optional.of(ranks.pid(0))), EnumSet.allOf(Finding.Kind.class), 1);
            } finally {
                ranks.signal(2, "-CONT");
            }
        }
    }

    @Test
    void stillAnswersWhenRankZeroIsGone() throws Exception {
        try (PsRanks ranks = PsRanks.start(folder, 3, -1, PsRankMain.Fault.NONE)) {
            ranks.await(2, "READY");
            ranks.process(0).destroyForcibly().waitFor();
            ranks.await(1, "FAILED");
            ranks.await(2, "FAILED");
            Diagnosis seen = awaitNamed(Optional.of(ranks.pid(2)), Finding.Kind.FAILED, 0);
            assertThat(seen.sample().ranks().get(0).absentee().orElseThrow().reason())
                    .isEqualTo(Absentee.Reason.ENDED);
        }
    }

    /**
     * Rank 0 runs the rendezvous server, so it knows the missing rank. From another host, the inspection needs the
     * status port of rank 0 and the secret.
     */
    @Test
    void theRankMissingAtTheRendezvousIsNamedHereAndOnOtherHosts() throws Exception {
        try (PsRanks ranks = new PsRanks(folder)) {
            int rendezvous = PsRanks.freePort();
            int status = PsRanks.freePort();
            for (int rank = 0; rank < 3; rank++) {
                if (rank != 1) {
                    ranks.startLaunched(rank, 3, "127.0.0.1:" + rendezvous + "/a secret", status + rank);
                }
            }
            awaitNamed(Optional.empty(), Finding.Kind.ABSENT, 1);
            Diagnosis remote = awaitNamed(() -> lookAt(status, "a secret"), EnumSet.of(Finding.Kind.ABSENT), 1);
            assertThat(remote.findings().get(0).text()).contains("the rendezvous server waits");
            ranks.startLaunched(1, 3, "127.0.0.1:" + rendezvous + "/a secret", 0); // now no rank is missing
            ranks.await(2, "READY");
            assertThat(lookAt(status, "a secret").get(0).sample().ranks()).hasSize(3);
            assertThatThrownBy(() -> lookAt(status, "another"))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("refuses");
        }
    }

    @Test
    void everyRankDumpsToTheRequestedFolder() throws Exception {
        Path dumps = folder.resolve("dumps");
        try (PsRanks ranks = PsRanks.start(folder, 2, 1, PsRankMain.Fault.ABSENT)) {
            ranks.await(1, "READY");
            try (Attached attached =
                    new Attached.Local(StatusDirectory.of(settings()), Optional.of(ranks.pid(0)), "")) {
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
    void namesAnAbsentRankAmongManyThreads(int size) throws Exception {
        try (PsRanks ranks = new PsRanks(folder)) {
            UniqueId id = UniqueId.create();
            int victim = size - 3;
            ranks.startProcess(id, 0, size, size, victim, PsRankMain.Fault.ABSENT, Map.of());
            ranks.await(0, "READY " + victim);
            Diagnosis seen = awaitNamed(Optional.of(ranks.pid(0)), Finding.Kind.ABSENT, victim);
            String text = PsText.of(List.of(seen), List.of(), List.of(), false, false);
            assertThat(text.lines().count()).as(text).isLessThan(20);
        }
    }

    @Test
    void saysThatAHealthyJobIsFine() throws Exception {
        try (PsRanks ranks = PsRanks.start(folder, 2, -1, PsRankMain.Fault.NONE)) {
            ranks.await(1, "READY");
            String text = "";
            for (int looks = 0; looks < 10 && !text.startsWith("OK "); looks++) { // a busy host can hold up a rank
                text = PsText.of(look(Optional.empty()), List.of(), List.of(), true, false);
            }
            assertThat(text).startsWith("OK ");
        }
    }
}
