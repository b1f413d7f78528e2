package io.jccl.cli.output;

/**
 * Computes the difference and the contrast of colours as readers see them, some of whom are colour-blind.
 *
 * <p>Simulates colour blindness by Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of
 * Color Vision Deficiency", IEEE TVCG 15(6), 2009, at full severity, on linear RGB. The difference of colours is that
 * of CIE 1976 (L*a*b*, D65); about 2.3 is just noticeable. The contrast is that of WCAG 2.1.
 */
public enum ColourVision {
    NORMAL(new double[][] {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}),
    PROTANOPIA(new double[][] {
        {0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}
    }),
    DEUTERANOPIA(new double[][] {
        {0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}
    });

    private static final double[][] TO_XYZ = {
        {0.4124564, 0.3575761, 0.1804375}, {0.2126729, 0.7151522, 0.0721750}, {0.0193339, 0.1191920, 0.9503041}
    };
    private static final double[] WHITE = {0.95047, 1, 1.08883};

    private final double[][] matrix;

    ColourVision(double[][] matrix) {
        this.matrix = matrix;
    }

    /** Returns how far apart two colours, such as {@code #0072b2}, are to this reader. */
    public double difference(String one, String other) {
        double[] first = lab(times(matrix, linear(one)));
        double[] second = lab(times(matrix, linear(other)));
        return Math.sqrt(Math.pow(first[0] - second[0], 2)
                + Math.pow(first[1] - second[1], 2)
                + Math.pow(first[2] - second[2], 2));
    }

    /** Returns the contrast of two colours, from 1 for equal luminance to 21 for black on white. */
    public static double contrast(String one, String other) {
        double first = times(TO_XYZ, linear(one))[1] + 0.05;
        double second = times(TO_XYZ, linear(other))[1] + 0.05;
        return Math.max(first, second) / Math.min(first, second);
    }

    private static double[] linear(String colour) {
        double[] linear = new double[3];
        for (int i = 0; i < 3; i++) {
            double value = Integer.parseInt(colour.substring(1 + 2 * i, 3 + 2 * i), 16) / 255.0;
            linear[i] = value <= 0.04045 ? value / 12.92 : Math.pow((value + 0.055) / 1.055, 2.4);
        }
        return linear;
    }

    private static double[] lab(double[] rgb) {
        double[] xyz = times(TO_XYZ, rgb);
        double[] f = new double[3];
        for (int i = 0; i < 3; i++) {
            double value = Math.max(0, xyz[i] / WHITE[i]);
            f[i] = value > 216.0 / 24389 ? Math.cbrt(value) : (24389.0 / 27 * value + 16) / 116;
        }
        return new double[] {116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])};
    }

    private static double[] times(double[][] matrix, double[] vector) {
        double[] product = new double[3];
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 3; j++) {
                product[i] += matrix[i][j] * vector[j];
            }
        }
        return product;
    }
}
