package io.jccl.search;

/**
 * Prices of using a resource once more. They rise steeply as the resource fills up, so that the cheapest route leaves
 * most capacity to later ones.
 */
final class Prices implements Costs.Pricing {

    /** Natural logarithm of the ratio of a full resource's price to an empty one's. */
    private static final double STEEPNESS = 12;

    /**
     * Load, as a multiple of the load of a full resource, above which prices stay constant. Such a load is far from any
     * solution, and constant prices keep the numbers finite.
     */
    private static final double FLAT = 3;

    /** Weight of distance relative to prices; so small that distance decides only between equal prices. */
    private static final double DISTANCE_SHARE = 1e-7;

    private final double[] whole;
    private final double[] half;
    private final double perDistance;

    /**
     * Computes prices at the present uses.
     *
     * @param fullAt the bandwidth of a route in GB/s at which resources count as full
     * @param noise the largest share by which prices are raised at random
     */
    Prices(Traffic traffic, Packing packing, double fullAt, double noise, RandomNumbers random) {
        whole = new double[traffic.resources()];
        half = new double[traffic.resources()];
        double sum = 0;
        for (int i = 0; i < whole.length; i++) {
            double per = fullAt / traffic.gbps(i);
            double at = packing.uses(i) * per;
            double present = cost(at);
            double factor = noise > 0 ? 1 + noise * random.nextShare() : 1;
            whole[i] = factor * (cost(at + per) - present);
            half[i] = factor * (cost(at + per / 2) - present);
            sum += whole[i];
        }
        perDistance = DISTANCE_SHARE * sum / whole.length;
    }

    private static double cost(double fill) {
        return fill <= FLAT ? Math.exp(STEEPNESS * fill) : Math.exp(STEEPNESS * FLAT) * (1 + STEEPNESS * (fill - FLAT));
    }

    /** Returns the sum of all resources' costs at the present uses; a lower sum is better balanced. */
    static double potential(Traffic traffic, Packing packing, double fullAt) {
        double sum = 0;
        for (int i = 0; i < traffic.resources(); i++) {
            if (packing.uses(i) > 0) {
                sum += cost(packing.uses(i) * fullAt / traffic.gbps(i));
            }
        }
        return sum;
    }

    @Override
    public double of(Load load, int distance) {
        double sum = perDistance * distance;
        for (int i = 0; i < load.resources().length; i++) {
            sum += load.weights()[i] == 1 ? whole[load.resources()[i]] : half[load.resources()[i]];
        }
        return sum;
    }
}
