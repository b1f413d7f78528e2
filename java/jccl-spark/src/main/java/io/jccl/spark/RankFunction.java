package io.jccl.spark;

import io.jccl.Communicator;
import java.io.Serializable;
import java.util.Iterator;

/**
 * The function that one rank runs: the body of a task of a barrier stage.
 *
 * @param <T> the type of the rows of the partition
 * @param <R> the type of the results
 */
@FunctionalInterface
public interface RankFunction<T, R> extends Serializable {

    /**
     * Runs on the task's thread, once for each attempt of the stage.
     *
     * @param comm connects the tasks of the stage; its rank is the number of this partition. The stage closes it when
     *     the task has ended, and not before the results have been read
     * @param rows rows of this partition
     * @return results of this rank; an empty iterator if there are none
     * @throws Exception to end the task; then the other ranks' operations fail at once, and Spark starts another
     *     attempt of the stage
     */
    Iterator<R> call(Communicator comm, Iterator<T> rows) throws Exception;
}
