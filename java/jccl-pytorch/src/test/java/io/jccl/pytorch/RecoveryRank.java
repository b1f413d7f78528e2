package io.jccl.pytorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.bytedeco.pytorch.global.torch.cross_entropy_loss;
import static org.bytedeco.pytorch.global.torch.manual_seed;
import static org.bytedeco.pytorch.global.torch.randint;

import io.jccl.Communicator;
import io.jccl.PeerFailedException;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.VoidTensorHook;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * A rank of three, of which rank 1 is killed within a backward pass. The others continue, and compare their parameters
 * with those of a training in one process that has used the samples of the same ranks in each step.
 */
final class RecoveryRank {

    static final String RESULT = "RESULT ok";

    private static final int BATCH = 8;
    private static final int STEPS = 30;
    private static final int KILLED_IN = 12;
    private static final int VICTIM = 1;

    private RecoveryRank() {}

    public static void main(String[] args) throws Exception {
        LibTorch.load();
        torch.set_num_threads(1);
        Communicator comm = Communicator.fromEnvironment();
        int me = comm.rank();
        Nets.Net net = first();
        Optimizer optimizer = EqualityScenarios.optimizer("Adam", net);
        DistributedDataParallel ddp =
                DistributedDataParallel.builder(comm, net).bucketBytes(2048).build();
        VoidTensorHook killer = new VoidTensorHook() {
            @Override
            public void call(TensorBase gradient) {
                if (me == VICTIM && ddp.steps() == KILLED_IN) {
                    kill();
                }
            }
        };
        net.parameterList().get(2).register_hook(killer);
        long stepsOfThree = STEPS;
        while (ddp.steps() < STEPS) {
            PointerScope scope = new PointerScope();
            try {
                optimizer.zero_grad();
                loss(net, ddp.steps(), me).backward();
                ddp.synchronize();
                optimizer.step();
            } catch (PeerFailedException e) {
                assertThat(e.failedRanks()).containsExactly(VICTIM);
                System.out.println("failed in step " + ddp.steps());
                Communicator rest = comm.shrink(e.failedRanks());
                comm.close();
                comm = rest;
                ddp.recover(rest, optimizer::step);
                stepsOfThree = ddp.steps();
                System.out.println("goes on from step " + stepsOfThree);
            }
            scope.close();
        }
        ddp.requireEqualParameters();
        assertThat(killer.isNull()).isFalse(); // keeps the hook reachable
        assertThat(stepsOfThree).isBetween((long) KILLED_IN, KILLED_IN + 1L);
        Nets.Net expected = alone(stepsOfThree);
        double distance = EqualityScenarios.distance(net.parameterList(), expected.parameterList());
        assertThat(distance).isLessThan(1e-12);
        ddp.close();
        comm.close();
        System.out.println(RESULT);
    }

    private static void kill() {
        try {
            new ProcessBuilder(
                            "kill", "-9", Long.toString(ProcessHandle.current().pid()))
                    .start()
                    .waitFor();
        } catch (java.io.IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Returns the loss of a rank's samples of a step. */
    private static Tensor loss(Nets.Net net, long step, int rank) {
        manual_seed(1000 * step + rank);
        Tensor x = net.samples(BATCH, ScalarType.Double);
        Tensor y = randint(10, new long[] {BATCH}, new TensorOptions(ScalarType.Long));
        return cross_entropy_loss(net.forward(x), y);
    }

    private static Nets.Net alone(long stepsOfThree) {
        Nets.Net net = first();
        Optimizer optimizer = EqualityScenarios.optimizer("Adam", net);
        for (long step = 0; step < STEPS; step++) {
            optimizer.zero_grad();
            int[] ranks = step < stepsOfThree ? new int[] {0, 1, 2} : new int[] {0, 2};
            for (int rank : ranks) {
                loss(net, step, rank).div(new Scalar((double) ranks.length)).backward();
            }
            optimizer.step();
        }
        return net;
    }

    private static Nets.Net first() {
        manual_seed(7);
        return Nets.Kind.MLP.create(ScalarType.Double);
    }
}
