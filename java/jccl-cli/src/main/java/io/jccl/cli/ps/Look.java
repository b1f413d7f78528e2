package io.jccl.cli.ps;

import io.jccl.diagnosis.CommunicatorSample;
import io.jccl.diagnosis.Diagnosis;
import io.jccl.diagnosis.Samples;
import io.jccl.diagnosis.Sampling;
import io.jccl.status.Answer;
import io.jccl.status.ProcessSnapshot;
import io.jccl.status.Request;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Samples a job until the samples show which ranks hold it up, but not much longer than 3 s. */
final class Look {

    private static final long PAUSE_MILLIS = 150;
    private static final long MAX_NANOS = TimeUnit.SECONDS.toNanos(3);

    private final Attached attached;
    private final String job; // beginning of the job's name; empty for all
    private final Map<String, List<CommunicatorSample>> samples = new LinkedHashMap<>(); // key: communicator
    private final Map<String, ProcessSnapshot> processes = new LinkedHashMap<>();

    private Look(Attached attached, String job) {
        this.attached = attached;
        this.job = job;
    }

    /**
     * Takes the samples.
     *
     * @param job beginning of the name of a job or a communicator; empty for all
     */
    static Look at(Attached attached, String job) throws IOException, InterruptedException {
        Look look = new Look(attached, job);
        look.look();
        return look;
    }

    /** Returns the communicators with the findings about them. */
    List<Diagnosis> communicators() {
        List<Diagnosis> all = new ArrayList<>();
        for (List<CommunicatorSample> mine : samples.values()) {
            all.add(Diagnosis.of(mine));
        }
        return all;
    }

    /** Returns the processes that have answered. */
    Collection<ProcessSnapshot> processes() {
        return processes.values();
    }

    private void look() throws IOException, InterruptedException {
        long end = System.nanoTime() + MAX_NANOS;
        add(Request.latest(Request.Kind.JOB));
        for (String communicator : List.copyOf(samples.keySet())) {
            List<CommunicatorSample> mine = samples.get(communicator);
            while (Sampling.needsMore(mine) && System.nanoTime() - end < 0) {
                Thread.sleep(PAUSE_MILLIS);
                add(new Request(Request.Kind.JOB, communicator, Sampling.question(mine), ""));
            }
        }
    }

    private void add(Request request) throws IOException {
        List<Answer> all = attached.ask(request);
        List<Answer> answers = job.isEmpty() ? all : JobOf.named(job, all);
        for (Answer answer : answers) {
            answer.processes().stream()
                    .filter(process ->
                            !process.ranks().isEmpty() || !process.joins().isEmpty())
                    .forEach(process -> processes.put(process.process(), process));
        }
        for (CommunicatorSample sample : Samples.of(answers)) {
            samples.computeIfAbsent(sample.key(), key -> new ArrayList<>()).add(sample);
        }
    }
}
