package io.jccl.search;

/**
 * What one part of a channel puts on resources, in multiples of the channel's bandwidth. A resource may occur twice.
 *
 * @param resources numbers of {@link Capacities}
 * @param weights how much of the channel's bandwidth goes over each
 */
record Load(int[] resources, double[] weights) {

    static final Load NONE = new Load(new int[0], new double[0]);

    /** All resources with the same weight, their numbers moved by {@code offset}. */
    static Load of(int[] resources, double weight, int offset) {
        int[] moved = new int[resources.length];
        double[] weights = new double[resources.length];
        for (int i = 0; i < moved.length; i++) {
            moved[i] = resources[i] + offset;
            weights[i] = weight;
        }
        return new Load(moved, weights);
    }

    /** Both together; null, which stands for what cannot be, if either is. */
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
