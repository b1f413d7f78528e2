package io.jccl.cli.ps;

import io.jccl.diagnosis.CommunicatorSample;
import io.jccl.diagnosis.Samples;
import io.jccl.internal.Causes;
import io.jccl.status.Absentee;
import io.jccl.status.Answer;
import io.jccl.status.JobIdentity;
import io.jccl.status.ProcessState;
import io.jccl.status.Request;
import io.jccl.status.StatusClient;
import io.jccl.status.StatusDirectory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A source of answers for {@code jccl ps}: the processes of this host, or a process of another one. For one thread. */
abstract class Attached implements AutoCloseable {

    /** Time limit for a process of this host that reports only about itself. */
    private static final Duration PROCESS_LIMIT = Duration.ofSeconds(1);

    /**
     * Time limit for a process of this host if the user asks for one job. The limit is shorter, because other processes
     * of the job report a process that does not answer.
     */
    private static final Duration PROCESS_LIMIT_OF_JOB = Duration.ofMillis(200);

    /** Time limit for a process that asks all others of its job. */
    private static final Duration JOB_LIMIT = Duration.ofSeconds(20);

    private static final long MARGIN_MILLIS = 2000;

    final StatusClient client = new StatusClient();
    private final List<String> notes = new ArrayList<>();

    /** Returns the answers to a request; adds a note for each process that does not answer. */
    abstract List<Answer> ask(Request request) throws IOException;

    /** Returns remarks for the reader in addition to the answers. */
    final List<String> notes() {
        return List.copyOf(notes);
    }

    final void note(String text) {
        if (!notes.contains(text)) {
            notes.add(text);
        }
    }

    @Override
    public final void close() {
        client.close();
    }

    static StatusClient.Result await(CompletableFuture<StatusClient.Result> future, Duration limit) {
        try {
            return future.get(limit.toMillis() + MARGIN_MILLIS, TimeUnit.MILLISECONDS);
        } catch (ExecutionException | TimeoutException e) {
            return new StatusClient.Result(
                    Optional.empty(), Optional.of(Absentee.Reason.SILENT), "no answer: " + Causes.describe(e));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return new StatusClient.Result(Optional.empty(), Optional.of(Absentee.Reason.SILENT), "interrupted");
        }
    }

    /** Asks a process through its TCP port, with the job's secret. */
    static final class Remote extends Attached {

        private final InetSocketAddress address;
        private final JobIdentity.Key key;

        Remote(InetSocketAddress address, JobIdentity.Key key) {
            this.address = address;
            this.key = key;
        }

        @Override
        List<Answer> ask(Request request) throws IOException {
            StatusClient.Result result = await(client.ask(address, Optional.of(key), request, JOB_LIMIT), JOB_LIMIT);
            return List.of(result.answer()
                    .orElseThrow(() -> new IOException("address=" + address + ": "
                            + result.reason().orElseThrow().predicate(false) + " (" + result.text() + ")"
                            + remedy(result.reason().get()))));
        }

        private static String remedy(Absentee.Reason reason) {
            return switch (reason) {
                case REFUSED -> "; give the job's own secret, see jccl ps --help";
                case ENDED -> "; is it the port of a status server? jccl ps on its host shows it";
                default -> "";
            };
        }
    }

    /** Asks the processes of this host through their Unix sockets. */
    static final class Local extends Attached {

        private final StatusDirectory directory;
        private final Optional<Long> pid;
        private final String job;

        /**
         * @param pid the process to attach to; empty for all processes of the user
         * @param job beginning of the name of the only job or communicator to ask; empty for all
         */
        Local(StatusDirectory directory, Optional<Long> pid, String job) {
            this.directory = directory;
            this.pid = pid;
            this.job = job;
        }

        /** Asks all processes of this host about themselves, then one of each wanted job about all ranks of its job. */
        @Override
        List<Answer> ask(Request request) throws IOException {
            List<StatusDirectory.Entry> entries = directory.entries();
            requireThere(entries);
            Request own = new Request(Request.Kind.PROCESS, request.communicator(), request.sequence(), "");
            Map<StatusDirectory.Entry, StatusClient.Result> results =
                    all(entries, own, job.isEmpty() ? PROCESS_LIMIT : PROCESS_LIMIT_OF_JOB);
            Map<StatusDirectory.Entry, Answer> living = new LinkedHashMap<>();
            for (Map.Entry<StatusDirectory.Entry, StatusClient.Result> one : results.entrySet()) {
                one.getValue()
                        .answer()
                        .ifPresentOrElse(
                                answer -> living.put(one.getKey(), answer),
                                () -> noteSilent(one.getKey(), one.getValue()));
            }
            List<Answer> answers = new ArrayList<>();
            all(representatives(wanted(living)), request, JOB_LIMIT).values().forEach(result -> result.answer()
                    .ifPresent(answers::add));
            answers.addAll(living.values());
            return pid.isPresent() ? JobOf.process(pid.get(), answers) : answers;
        }

        /**
         * Returns the processes of the requested job. If none of them has answered, returns all processes, because one
         * of another job may know something about the requested job.
         */
        private Map<StatusDirectory.Entry, Answer> wanted(Map<StatusDirectory.Entry, Answer> living) {
            List<Answer> all = List.copyOf(living.values());
            List<Answer> ofJob = pid.isPresent() ? JobOf.process(pid.get(), all) : JobOf.named(job, all);
            Map<StatusDirectory.Entry, Answer> wanted = new LinkedHashMap<>();
            Iterator<Answer> next = ofJob.iterator();
            living.forEach((entry, answer) -> {
                if (!Samples.of(List.of(next.next())).isEmpty()) {
                    wanted.put(entry, answer);
                }
            });
            return wanted.isEmpty() ? living : wanted;
        }

        private void requireThere(List<StatusDirectory.Entry> entries) throws IOException {
            if (pid.isEmpty() || entries.stream().anyMatch(entry -> entry.pid() == pid.get())) {
                return;
            }
            String why = ProcessState.of(pid.get()) == ProcessState.ENDED
                    ? "there is no such process"
                    : "it has no communicator, runs with JCCL_STATUS=0, in a container with another " + directory.path()
                            + ", or is not JCCL's";
            throw new IOException(
                    "pid=" + pid.get() + ": " + why + "; jccl ps lists those of directory=" + directory.path());
        }

        private Map<StatusDirectory.Entry, StatusClient.Result> all(
                List<StatusDirectory.Entry> entries, Request request, Duration limit) {
            Map<StatusDirectory.Entry, CompletableFuture<StatusClient.Result>> asked = new LinkedHashMap<>();
            for (StatusDirectory.Entry entry : entries) {
                asked.put(entry, client.ask(entry.address(), Optional.empty(), request, limit));
            }
            Map<StatusDirectory.Entry, StatusClient.Result> results = new LinkedHashMap<>();
            asked.forEach((entry, future) -> results.put(entry, await(future, limit)));
            return results;
        }

        private void noteSilent(StatusDirectory.Entry entry, StatusClient.Result result) {
            Absentee.Reason reason = result.reason().orElseThrow();
            if (reason == Absentee.Reason.ENDED) {
                try {
                    directory.remove(entry);
                } catch (IOException e) {
                    note("socket=" + entry.path() + " of a process that has ended cannot be removed: "
                            + Causes.describe(e));
                }
            } else if (job.isEmpty()) { // else the silent process may belong to another job
                boolean stopped = ProcessState.of(entry.pid()) == ProcessState.STOPPED;
                note("pid " + entry.pid() + " "
                        + (stopped ? Absentee.Reason.STOPPED : reason).predicate(false)
                        + (result.text().isEmpty() || stopped ? "" : " (" + result.text() + ")"));
            }
        }

        /** Returns processes that together know every communicator: the first one of each communicator. */
        private static List<StatusDirectory.Entry> representatives(Map<StatusDirectory.Entry, Answer> living) {
            Set<String> covered = new HashSet<>();
            List<StatusDirectory.Entry> chosen = new ArrayList<>();
            living.forEach((entry, answer) -> {
                boolean adds = false;
                for (CommunicatorSample sample : Samples.of(List.of(answer))) {
                    adds |= covered.add(sample.key());
                }
                if (adds) {
                    chosen.add(entry);
                }
            });
            return chosen;
        }
    }
}
