package io.jccl.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import io.jccl.Algorithm;
import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.JcclException;
import io.jccl.ReduceOp;
import io.jccl.Registration;
import io.jccl.Work;
import java.nio.ByteOrder;

/** A rank that registers the memory of a tensor, which libtorch has allocated, and reduces it in place. */
final class RegisteredTensor {

    static final String RESULT = "RESULT ok";

    private static final int COUNT = 1_300_000; // not a whole number of pages
    private static final int ROUNDS = 3;

    private RegisteredTensor() {}

    public static void main(String[] arguments) {
        try (Communicator comm = Communicator.fromEnvironment();
                NDManager manager = NDManager.newBaseManager("PyTorch")) {
            NDArray tensor = manager.zeros(new Shape(COUNT));
            try (Registration registration = comm.register(elements(tensor))) {
                assertThat(registration.isInPlace()).isTrue();
                for (int round = 0; round < ROUNDS; round++) {
                    requireSum(comm, tensor, round, Algorithm.DIRECT);
                }
            }
            requireSum(comm, tensor, ROUNDS, Algorithm.RING);
            assertThatThrownBy(() -> comm.register(elements(tensor.get("1:"))))
                    .isInstanceOf(JcclException.class)
                    .hasMessageContaining("is part of another")
                    .hasMessageContaining("HostBuffer.allocate");
        }
        System.out.println(RESULT);
    }

    private static DataBuffer elements(NDArray tensor) {
        return DataBuffer.of(
                tensor.toByteBuffer(true).order(ByteOrder.nativeOrder()).asFloatBuffer());
    }

    /** PyTorch fills the tensor, the ranks sum it, and PyTorch reads the sum. */
    private static void requireSum(Communicator comm, NDArray tensor, int round, Algorithm expected) {
        tensor.muli(0).addi(comm.rank() + round);
        Work work = comm.allReduce(elements(tensor), ReduceOp.SUM);
        work.await();
        assertThat(work.execution().algorithm()).isEqualTo(expected);
        int sum = comm.size() * round + comm.size() * (comm.size() - 1) / 2;
        assertThat(tensor.min().getFloat()).isEqualTo(sum);
        assertThat(tensor.max().getFloat()).isEqualTo(sum);
    }
}
