package io.jccl.search;

/**
 * The load of one part of a channel on resources, in multiples of the channel's bandwidth. A resource may occur twice.
 * A null load stands for an impossible part.
 *
 * @param resources numbers of {@link Capacities}
 * @param weights for each resource, the share of the channel's bandwidth that it carries
 */
record Load(int[] resources, double[] weights) {

    static final Load NONE = new Load(new int[0], new double[0]);

    /** Returns a load with the same weight on all resources; {@code offset} is added to their numbers. */
    static Load of(int[] resources, double weight, int offset) {
        int[] moved = new int[resources.length];
        double[] weights = new double[resources.length];
        for (int i = 0; i < moved.length; i++) {
            moved[i] = resources[i] + offset;
            weights[i] = weight;
        }
        return new Load(moved, weights);
    }

    /** Returns the sum of two loads; null if one of them is null. */
    static Load both(Load one, Load other) {
        if (one == null || other == null) {
            return null;
        }
        int[] resources = new int[one.resources.length + other.resources.length];
        double[] weights = new double[resources.length];
        System.arraycopy(one.resources, 0, resources, 0, one.resources.length);
        System.arraycopy(other.resources, 0, resources, one.resources.length, other.resources.length);
        System.arraycopy(one.weights, 0, weights, 0, one.weights.length);
        System.arraycopy(other.weights, 0, weights, one.weights.length, other.weights.length);
        return new Load(resources, weights);
    }
}
