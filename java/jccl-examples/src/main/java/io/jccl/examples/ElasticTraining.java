package io.jccl.examples;

import io.jccl.CommunicationTimeoutException;
import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.PeerFailedException;
import io.jccl.ReduceOp;
import java.util.Arrays;
import java.util.Locale;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Training that continues when ranks die, and takes in processes that replace them. The survivors shrink the
 * communicator, copy the state of the rank with the most steps, divide the batch among themselves and continue. Some
 * steps later they reform the communicator with processes that join, which {@code jccl run --elastic} starts, and copy
 * the state to them. No step is lost, and any rank may die, even rank 0.
 *
 * <p>The loss of each step has the same bits for any number of ranks. A step has the same samples, whichever ranks
 * compute their gradients. Gradients are added as integers, so their order does not matter.
 *
 * <p>The model is a logistic regression, trained by gradient descent on a new batch in each step.
 */
public final class ElasticTraining {

    private static final long SEED = 42;
    private static final int FEATURES = 20;
    private static final double RATE = 0.5;
    private static final double UNIT = 0x1p-36; // value of 1 in the gradients, which are integers
    private static final int KILLED = 137; // exit status of a process that SIGKILL ended

    private final int steps;
    private final int batch;
    private final int rejoinAfter; // steps before processes may join again; 0: never
    private final int dyingStep; // step at which this rank dies; negative: never
    private double[] state; // the weights, followed by the loss of each step
    private int step; // number of steps that the state contains
    private int whole; // number of ranks that the job is to have

    private ElasticTraining(int steps, int batch, int rejoinAfter, int dyingStep, int whole) {
        this.steps = steps;
        this.batch = batch;
        this.rejoinAfter = rejoinAfter;
        this.dyingStep = dyingStep;
        this.whole = whole;
        this.state = new double[FEATURES + steps];
    }

    /** Runs the example; {@code --help} lists its options. */
    public static void main(String[] arguments) {
        Options options = new Options(ElasticTraining.class, arguments);
        int steps = options.number("steps", 2000, 1, Integer.MAX_VALUE, "steps of training");
        int batch = options.number("batch", 300, 1, 1_000_000, "samples of a step, of all ranks together");
        int rejoinAfter = options.number(
                "rejoin-after",
                0,
                0,
                Integer.MAX_VALUE,
                "steps after which processes replace ranks that died; 0: never");
        int dyingRank = options.number("dying-rank", -1, -1, 1_000_000, "the rank that dies; -1: none");
        int dyingStep = options.number("dying-step", 1000, 0, Integer.MAX_VALUE, "the step in which it dies");
        options.check();
        Communicator comm = Communicator.fromEnvironment();
        try {
            if (dyingRank >= comm.size() || dyingRank >= 0 && dyingStep >= steps) {
                options.fail(
                        comm,
                        "dying-rank=" + dyingRank + " dying-step=" + dyingStep + ": expected a rank below "
                                + comm.size() + " and a step below " + steps);
            }
            boolean dies = comm.rank() == dyingRank && comm.generation() == 0;
            ElasticTraining training =
                    new ElasticTraining(steps, batch, rejoinAfter, dies ? dyingStep : -1, comm.size());
            boolean done = false;
            while (!done) {
                try {
                    training.takeOver(comm);
                    training.run(comm);
                    done = training.step == steps;
                    if (done) {
                        comm.barrier().await(); // nobody leaves before all have the last step
                    } else {
                        comm = training.replace(comm);
                    }
                } catch (PeerFailedException e) {
                    System.out.printf("step %d: ranks %s of %d failed%n", training.step, e.failedRanks(), comm.size());
                    Communicator rest = without(comm, e);
                    comm.close();
                    comm = rest;
                }
            }
            training.report(comm);
        } finally {
            comm.close();
        }
    }

    /** Makes a communicator of the remaining ranks. If more ranks die in the meantime, leaves them out as well. */
    private static Communicator without(Communicator comm, PeerFailedException failure) {
        Set<Integer> failed = new TreeSet<>(failure.failedRanks());
        while (true) {
            if (failed.contains(comm.rank())) {
                throw failure; // this rank did not answer in time, so the others continue without it
            }
            try {
                return comm.shrink(failed);
            } catch (PeerFailedException e) {
                failed.addAll(e.failedRanks());
                failure = e;
            }
        }
    }

    /** Takes in processes that replace dead ranks. If they do not come in time, all ranks continue without them. */
    private Communicator replace(Communicator comm) {
        Set<Integer> all = IntStream.range(0, comm.size()).boxed().collect(Collectors.toSet());
        int missing = whole - comm.size();
        try {
            Communicator next = comm.reform(all, missing);
            comm.close();
            return next;
        } catch (CommunicationTimeoutException e) {
            if (!e.missingRanks().isEmpty()) {
                throw e;
            }
            System.out.printf("step %d: %d processes did not come%n", step, missing);
            whole = comm.size();
            return comm;
        } catch (PeerFailedException e) {
            if (!e.failedRanks().isEmpty()) {
                throw e;
            }
            return comm; // a process failed while it joined
        }
    }

    /**
     * Copies the state of the rank with the most steps to all others. When a rank dies during an all-reduce, some of
     * the other ranks may have received its result and others not. Processes that joined have no state.
     */
    private void takeOver(Communicator comm) {
        whole = (int) comm.allReduce((long) whole, ReduceOp.MAX);
        long furthest = comm.allReduce((long) step, ReduceOp.MAX);
        long root = comm.allReduce((long) (step == furthest ? comm.rank() : comm.size()), ReduceOp.MIN);
        // Receives into separate memory: if the broadcast fails, `state` and `step` still belong together.
        double[] received = new double[state.length];
        comm.broadcast(DataBuffer.of(state), DataBuffer.of(received), (int) root)
                .await();
        state = received;
        step = (int) furthest;
        if (comm.rank() == 0) {
            System.out.printf("step %d: %d ranks go on in generation %d%n", step, comm.size(), comm.generation());
        }
    }

    private void run(Communicator comm) {
        long[] gradient = new long[FEATURES + 1]; // followed by the loss
        DataBuffer buffer = DataBuffer.of(gradient);
        boolean awaitsOthers = rejoinAfter > 0 && comm.size() < whole;
        int last = awaitsOthers ? (int) Math.min(steps, (long) step + rejoinAfter) : steps;
        int first = (int) ((long) batch * comm.rank() / comm.size());
        int end = (int) ((long) batch * (comm.rank() + 1) / comm.size());
        while (step < last) {
            Arrays.fill(gradient, 0);
            for (int i = first; i < end; i++) {
                addGradient((long) step * batch + i, gradient);
            }
            if (step == dyingStep) {
                Runtime.getRuntime().halt(KILLED); // like kill -9: nothing is closed
            }
            comm.allReduce(buffer, ReduceOp.SUM).await();
            for (int f = 0; f < FEATURES; f++) {
                state[f] -= RATE * (gradient[f] * UNIT) / batch;
            }
            state[FEATURES + step] = gradient[FEATURES] * UNIT / batch;
            step++;
            if (comm.rank() == 0 && step % Math.max(1, steps / 10) == 0) {
                System.out.printf(Locale.ROOT, "step %d: loss %.6f%n", step, state[FEATURES + step - 1]);
            }
        }
    }

    /** Makes a sample, and adds its gradient and its loss. Replace this with code that reads your data. */
    private void addGradient(long number, long[] gradient) {
        SplittableRandom random = new SplittableRandom(SEED + number);
        double[] features = new double[FEATURES];
        double truth = random.nextGaussian();
        double margin = 0;
        for (int f = 0; f < FEATURES; f++) {
            features[f] = random.nextGaussian();
            truth += features[f] / (f + 1);
            margin += features[f] * state[f];
        }
        int label = truth > 0 ? 1 : -1;
        double error = -label / (1 + Math.exp(label * margin));
        for (int f = 0; f < FEATURES; f++) {
            gradient[f] += Math.round(error * features[f] / UNIT);
        }
        double loss = Math.max(0, -label * margin) + Math.log1p(Math.exp(-Math.abs(margin)));
        gradient[FEATURES] += Math.round(loss / UNIT);
    }

    private void report(Communicator comm) {
        System.out.printf(
                Locale.ROOT,
                "finished %d steps as rank %d of %d in generation %d: loss %.9f, weights and losses of all steps %08x%n",
                step,
                comm.rank(),
                comm.size(),
                comm.generation(),
                state[FEATURES + step - 1],
                Arrays.hashCode(state));
    }
}
