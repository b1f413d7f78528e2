package io.jccl.runtime;

import io.jccl.DeviceStream;
import java.util.List;

/** Makes the operations of one communicator on device memory. */
interface DeviceOperations {

    /**
     * A collective with one count for all ranks.
     *
     * @param stream null: the communicator's own
     */
    Operation collective(DeviceStream stream, CollectiveCall call, long count, int root);

    /** A collective with counts per rank. */
    Operation vector(DeviceStream stream, CollectiveCall call, long[] counts);

    /** Sends and receives that run at the same time. */
    Operation pointToPoint(DeviceStream stream, List<PointToPointOperation.Transfer> transfers);

    /** Operations that were issued as one. */
    Operation group(DeviceStream stream, List<Operation> members);

    /** Returns when everything is over that was issued and is not in the queue; the caller has the right to issue. */
    void drain();

    /** The bytes of host memory that operations are staged in. */
    long stagingBytes();
}
