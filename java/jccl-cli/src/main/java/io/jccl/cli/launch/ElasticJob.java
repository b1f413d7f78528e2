package io.jccl.cli.launch;

import io.jccl.membership.MemberFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Decides when the processes of an elastic job are started again, and when the job ends. A process that is started
 * again joins the remaining ranks. A process is a member once it has written its {@link MemberFile}. Callers pass the
 * time, so that this class needs no threads.
 */
final class ElasticJob {

    /** Starts a process. */
    interface Starter {
        void start(int process, boolean joins) throws IOException;
    }

    private enum State {
        RUNS,
        /** Runs after a restart, and is not a member yet. */
        JOINS,
        /** Failed, and will be started again after its back-off. */
        WAITS,
        ENDED,
        LOST
    }

    private static final class Slot {
        private State state = State.RUNS;
        private int failures; // consecutive failures since the process was last a member
        private long startAt;
    }

    private final Elastic elastic;
    private final Path directory;
    private final Starter starter;
    private final Consumer<String> log;
    private final List<Slot> slots = new ArrayList<>();
    private int restarts;
    private Outcome failure = new Outcome(0, -1);

    /** Creates the state of a job whose processes have all been started. */
    ElasticJob(int processes, Elastic elastic, Path directory, Starter starter, Consumer<String> log) {
        this.elastic = elastic;
        this.directory = directory;
        this.starter = starter;
        this.log = log;
        for (int i = 0; i < processes; i++) {
            slots.add(new Slot());
        }
    }

    private int count(State state) {
        return (int) slots.stream().filter(slot -> slot.state == state).count();
    }

    private int running() {
        return count(State.RUNS) + count(State.JOINS);
    }

    private Path file(int process) {
        return MemberFile.of(directory, process);
    }

    /** Records that a process has ended, and decides whether it is to be started again. */
    void ended(int process, int status, long now) throws IOException {
        noteMembers();
        Slot slot = slots.get(process);
        Optional<String> member = MemberFile.describe(file(process));
        Files.deleteIfExists(file(process));
        String who =
                "process " + process + member.map(rank -> ", " + rank + ",").orElse("");
        if (status == 0) {
            slot.state = State.ENDED;
            slots.stream().filter(one -> one.state == State.WAITS).forEach(one -> one.state = State.LOST);
            return;
        }
        failure = new Outcome(status, process);
        slot.failures = member.isPresent() ? 1 : slot.failures + 1;
        String text = who + " ended with " + Outcome.describe(status) + "; ";
        slot.state = State.LOST;
        if (count(State.ENDED) > 0) {
            text += "others have ended well, so it is not started again; ";
        } else if (restarts == elastic.restarts()) {
            text += "all restarts=" + restarts + " are used; ";
        } else {
            restarts++;
            Duration wait = elastic.backoff(slot.failures);
            slot.state = State.WAITS;
            slot.startAt = now + wait.toNanos();
            text += "it starts again in " + wait.toMillis() + " ms and joins, restart " + restarts + " of "
                    + elastic.restarts() + "; ";
        }
        log.accept(text + running() + " of " + slots.size() + " processes live");
    }

    /** Starts the processes whose back-off is over, and logs which processes have joined. */
    void tick(long now) throws IOException {
        if (outcome().isPresent()) {
            return;
        }
        noteMembers();
        for (int process = 0; process < slots.size(); process++) {
            Slot slot = slots.get(process);
            if (slot.state == State.WAITS && now - slot.startAt >= 0) {
                slot.state = State.JOINS;
                starter.start(process, true);
            }
        }
    }

    private void noteMembers() {
        for (int process = 0; process < slots.size(); process++) {
            Optional<String> member =
                    slots.get(process).state == State.JOINS ? MemberFile.describe(file(process)) : Optional.empty();
            if (member.isPresent()) {
                slots.get(process).state = State.RUNS;
                log.accept("process " + process + " has joined as " + member.get());
            }
        }
    }

    /** Returns the outcome of the job if it has ended; the caller then ends the processes that still run. */
    Optional<Outcome> outcome() {
        int ended = count(State.ENDED);
        boolean nobodyToJoin = ended == 0 && count(State.RUNS) == 0;
        if (running() + ended < elastic.min() || nobodyToJoin) {
            return Optional.of(failure);
        }
        // Processes in state JOINS would find nobody to join.
        boolean over = count(State.RUNS) + count(State.WAITS) == 0;
        return over ? Optional.of(ended >= elastic.min() ? new Outcome(0, -1) : failure) : Optional.empty();
    }
}
