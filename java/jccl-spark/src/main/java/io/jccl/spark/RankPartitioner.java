package io.jccl.spark;

import org.apache.spark.Partitioner;

/** Makes rank {@code i}'s results partition {@code i}. */
final class RankPartitioner extends Partitioner {

    private static final long serialVersionUID = 1L;

    private final int ranks;

    RankPartitioner(int ranks) {
        this.ranks = ranks;
    }

    @Override
    public int numPartitions() {
        return ranks;
    }

    @Override
    public int getPartition(Object rank) {
        return (Integer) rank;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof RankPartitioner that && that.ranks == ranks;
    }

    @Override
    public int hashCode() {
        return ranks;
    }
}
