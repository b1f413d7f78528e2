package io.jccl.integration;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.ReduceOp;
import io.jccl.UniqueId;

/** Runs two ranks as threads and prints the sum of their values. Needs only the library and SLF4J on the class path. */
final class EarlierSlf4jMain {

    private static final long A_LOG_PERIOD_MILLIS = 300; // the thread that fetches native log records polls meanwhile

    private EarlierSlf4jMain() {}

    public static void main(String[] args) throws InterruptedException {
        UniqueId id = UniqueId.create();
        Thread other = new Thread(() -> sum(id, 1));
        other.start();
        System.out.println("sum=" + sum(id, 0));
        other.join();
        Thread.sleep(A_LOG_PERIOD_MILLIS);
    }

    private static float sum(UniqueId id, int rank) {
        float[] values = {rank + 1};
        try (Communicator comm = Communicator.init(id, rank, 2)) {
            comm.allReduce(DataBuffer.of(values), ReduceOp.SUM).await();
        }
        return values[0];
    }
}
