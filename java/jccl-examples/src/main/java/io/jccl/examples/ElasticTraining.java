package io.jccl.examples;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.PeerFailedException;
import io.jccl.ReduceOp;
import java.util.Arrays;
import java.util.Locale;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;

/**
 * Training that goes on when ranks die. The ranks that are left make a communicator of their own, take over the state
 * of the one that is furthest, divide the batch among themselves and go on. No step is lost, and any rank may die, also
 * rank 0.
 *
 * <p>The model is a logistic regression, trained by gradient descent on a new batch in each step.
 */
public final class ElasticTraining {

    private static final long SEED = 42;
    private static final int FEATURES = 20;
    private static final double RATE = 0.5;
    private static final int KILLED = 137; // the status of a process that SIGKILL ended

    private final int steps;
    private final int batch;
    private final int dyingStep; // negative: none
    private double[] weights = new double[FEATURES + 1]; // behind them the loss of the last step
    private int step; // how many steps are in the weights

    private ElasticTraining(int steps, int batch, int dyingStep) {
        this.steps = steps;
        this.batch = batch;
        this.dyingStep = dyingStep;
    }

    /** See {@code --help}. */
    public static void main(String[] arguments) {
        Options options = new Options(ElasticTraining.class, arguments);
        int steps = options.number("steps", 2000, 1, Integer.MAX_VALUE, "steps of training");
        int batch = options.number("batch", 300, 1, 1_000_000, "samples of a step, of all ranks together");
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
            boolean dies = comm.rank() == dyingRank;
            ElasticTraining training = new ElasticTraining(steps, batch, dies ? dyingStep : -1);
            boolean done = false;
            while (!done) {
                try {
                    training.takeOver(comm);
                    training.run(comm);
                    comm.barrier().await(); // nobody leaves before all have the last step
                    done = true;
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

    /** Makes a communicator of the ranks that are left. If more of them die meanwhile, it leaves these out as well. */
    private static Communicator without(Communicator comm, PeerFailedException failure) {
        Set<Integer> failed = new TreeSet<>(failure.failedRanks());
        while (true) {
            if (failed.contains(comm.rank())) {
                throw failure; // this rank did not answer for too long, and the others go on without it
            }
            try {
                return comm.shrink(failed);
            } catch (PeerFailedException e) {
                failed.addAll(e.failedRanks());
                failure = e;
            }
        }
    }

    /**
     * Copies the weights of the rank that is furthest to all others. When a rank dies, some of the others may have
     * the result of the last all-reduce and others not.
     */
    private void takeOver(Communicator comm) {
        long furthest = comm.allReduce((long) step, ReduceOp.MAX);
        long root = comm.allReduce((long) (step == furthest ? comm.rank() : comm.size()), ReduceOp.MIN);
        // Received into memory of its own: if this fails too, the weights are still those of the step.
        double[] received = new double[weights.length];
        comm.broadcast(DataBuffer.of(weights), DataBuffer.of(received), (int) root)
                .await();
        weights = received;
        step = (int) furthest;
        if (comm.rank() == 0) {
            System.out.printf("step %d: %d ranks go on%n", step, comm.size());
        }
    }

    private void run(Communicator comm) {
        double[] gradient = new double[weights.length]; // behind it the loss
        DataBuffer buffer = DataBuffer.of(gradient);
        int first = (int) ((long) batch * comm.rank() / comm.size());
        int end = (int) ((long) batch * (comm.rank() + 1) / comm.size());
        while (step < steps) {
            Arrays.fill(gradient, 0);
            for (int i = first; i < end; i++) {
                addGradient((long) step * batch + i, gradient);
            }
            if (step == dyingStep) {
                Runtime.getRuntime().halt(KILLED); // as by kill -9: nothing is closed
            }
            comm.allReduce(buffer, ReduceOp.SUM).await();
            for (int f = 0; f < FEATURES; f++) {
                weights[f] -= RATE * gradient[f] / batch;
            }
            weights[FEATURES] = gradient[FEATURES] / batch;
            step++;
            if (comm.rank() == 0 && step % Math.max(1, steps / 10) == 0) {
                System.out.printf(Locale.ROOT, "step %d: loss %.6f%n", step, weights[FEATURES]);
            }
        }
    }

    /** Makes a sample and adds its gradient and its loss. Replace this by reading your data. */
    private void addGradient(long number, double[] gradient) {
        SplittableRandom random = new SplittableRandom(SEED + number);
        double[] features = new double[FEATURES];
        double truth = random.nextGaussian();
        double margin = 0;
        for (int f = 0; f < FEATURES; f++) {
            features[f] = random.nextGaussian();
            truth += features[f] / (f + 1);
            margin += features[f] * weights[f];
        }
        int label = truth > 0 ? 1 : -1;
        double error = -label / (1 + Math.exp(label * margin));
        for (int f = 0; f < FEATURES; f++) {
            gradient[f] += error * features[f];
        }
        gradient[FEATURES] += Math.max(0, -label * margin) + Math.log1p(Math.exp(-Math.abs(margin)));
    }

    private void report(Communicator comm) {
        System.out.printf(
                Locale.ROOT,
                "finished %d steps as rank %d of %d: loss %.9f, weights %08x%n",
                step,
                comm.rank(),
                comm.size(),
                weights[FEATURES],
                Arrays.hashCode(weights));
    }
}
