package io.jccl.cli.topo.svg;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.cli.output.Svg;
import java.awt.Font;
import java.awt.font.FontRenderContext;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class TextStyleTest {

    private static final FontRenderContext EXACT = new FontRenderContext(null, true, true);

    /**
     * A build that requires the native tests also requires this font, so that the tests of text widths run: see
     * CONTRIBUTING.md.
     */
    @Test
    @EnabledIfSystemProperty(named = "jccl.native.tests", matches = "ON")
    void aWideFontIsInstalledIfTestsMustNotBeSkipped() {
        assertThat(isInstalled("DejaVu Sans")).as("install fonts-dejavu-core").isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"DejaVu Sans", "Verdana", "Liberation Sans", "Arial"})
    void textIsNoWiderThanItsBoundInInstalledFonts(String family) {
        assumeTrue(isInstalled(family), family + " is not installed");
        Font regular = new Font(family, Font.PLAIN, 100);
        Font bold = new Font(family, Font.BOLD, 100);
        Stream.of(
                        "GPU 7",
                        "NUMA 12",
                        "PCI 80:1a.0",
                        "mlx5_bond_0",
                        "rank 31",
                        "host memory",
                        "0-11, 14",
                        "inside",
                        "450/200",
                        "6 × 20 = 120 GB/s, channels 0, 2 one way, channels 1, 3 the other:",
                        "0 ⇄ 3 ⇄ 2 ⇄ 1")
                .forEach(text -> {
                    assertThat(width(bold, text)).as(text).isLessThanOrEqualTo(bound(TextStyle.NAME, text));
                    assertThat(width(regular, text)).as(text).isLessThanOrEqualTo(bound(TextStyle.ENTRY, text));
                });
    }

    /**
     * Returns true if the font is installed. Returns false as well if the JDK lacks the libraries that fonts need, as a
     * JDK for servers can.
     */
    private static boolean isInstalled(String family) {
        try {
            return new Font(family, Font.PLAIN, 100).getFamily().equals(family);
        } catch (RuntimeException | LinkageError | InternalError e) {
            return false;
        }
    }

    private static double bound(TextStyle style, String text) {
        return style.width(text) * 100 / style.size();
    }

    private static double width(Font font, String text) {
        return font.getStringBounds(text, EXACT).getWidth();
    }

    @ParameterizedTest
    @EnumSource(TextStyle.class)
    void textIsCutOrWrappedToFitItsSpace(TextStyle style) {
        String text = "mlx5_0123456789 and other 😀 network devices with long names";
        for (double space = style.width("…"); space < style.width(text); space += style.size() / 2) {
            double max = space;
            String cut = style.cut(text, space);
            assertThat(style.width(cut)).isLessThanOrEqualTo(space);
            assertThat(cut).endsWith("…");
            assertThat(text).startsWith(cut.substring(0, cut.length() - 1));
            assertThat(cut.codePoints()).noneMatch(point -> point >= 0xd800 && point <= 0xdfff);
            assertThat(style.wrap(text, space))
                    .allSatisfy(line -> assertThat(style.width(line)).isLessThanOrEqualTo(max));
        }
        assertThat(style.cut(text, style.width(text))).isEqualTo(text);
        assertThat(String.join(" ", style.wrap(text, style.width("mlx5_0123456789"))))
                .isEqualTo(text);
    }

    @Test
    void aLineHasAFixedLengthOnlyIfAWideFontWouldExceedItsSpace() {
        assertThat(drawn("NET 0", 300)).isEqualTo("<text x=\"5\" y=\"20\" class=\"name\">NET 0</text>\n");
        double length = TextStyle.NAME.likelyWidth("NET 0");
        assertThat(drawn("NET 0", TextStyle.NAME.width("NET 0")))
                .contains("textLength=\"" + Svg.number(length) + "\" lengthAdjust=\"spacingAndGlyphs\"");
        assertThat(drawn("NET 0", 10)).contains("textLength=\"10\"");
    }

    private static String drawn(String text, double space) {
        Svg svg = new Svg();
        new Label(TextStyle.NAME, text, 5, 20, false, space).draw(svg);
        return svg.toString();
    }
}
