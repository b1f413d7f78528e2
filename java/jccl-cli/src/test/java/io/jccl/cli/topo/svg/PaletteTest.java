package io.jccl.cli.topo.svg;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.cli.output.ColourVision;
import io.jccl.topology.LinkType;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class PaletteTest {

    /**
     * Least difference between two colours: several times the just noticeable one. Lines, which are thin, need a larger
     * difference than boxes.
     */
    private static final double BOXES_APART = 7;

    private static final double LINES_APART = 12;

    /** Least contrast that WCAG 2.1 requires: of text (1.4.3), and of graphics (1.4.11). */
    private static final double TEXT_CONTRAST = 4.5;

    private static final double LINE_CONTRAST = 3;

    static Stream<Palette> palettes() {
        return Stream.of(Palette.LIGHT, Palette.DARK);
    }

    private static List<String> fills(Palette palette) {
        return palette.nodes().values().stream().map(Palette.Tint::fill).toList();
    }

    private static void checkApart(Collection<String> colours, double apart) {
        List<String> all = List.copyOf(colours);
        for (ColourVision vision : ColourVision.values()) {
            for (int i = 0; i < all.size(); i++) {
                for (int j = 0; j < i; j++) {
                    assertThat(vision.difference(all.get(i), all.get(j)))
                            .as("%s and %s with %s", all.get(i), all.get(j), vision)
                            .isGreaterThan(apart);
                }
            }
        }
    }

    @ParameterizedTest
    @MethodSource("palettes")
    void colourBlindReadersDistinguishBoxesLinksAndRoutes(Palette palette) {
        List<String> backgrounds = new ArrayList<>(fills(palette));
        backgrounds.add(palette.frame());
        checkApart(backgrounds, BOXES_APART);
        checkApart(palette.links().values(), LINES_APART);
        checkApart(palette.routes(), LINES_APART);
    }

    @ParameterizedTest
    @MethodSource("palettes")
    void textAndLinesStandOutFromTheirBackground(Palette palette) {
        List<String> backgrounds = new ArrayList<>(List.of(palette.page(), palette.frame()));
        List<String> lines = new ArrayList<>(palette.links().values());
        lines.addAll(palette.routes());
        palette.nodes().values().forEach(tint -> lines.add(tint.edge()));
        for (String background : backgrounds) {
            for (String line : lines) {
                assertThat(ColourVision.contrast(line, background))
                        .as("%s on %s", line, background)
                        .isGreaterThanOrEqualTo(LINE_CONTRAST);
            }
        }
        backgrounds.addAll(fills(palette));
        for (String background : backgrounds) {
            for (String text : List.of(palette.ink(), palette.soft())) {
                assertThat(ColourVision.contrast(text, background))
                        .as("%s on %s", text, background)
                        .isGreaterThanOrEqualTo(TEXT_CONTRAST);
            }
        }
    }

    @Test
    void linksAndRoutesDifferInMoreThanColour() {
        assertThat(Stream.of(LinkType.values()).map(Theme::dashes)).doesNotHaveDuplicates();
        Set<String> looks = new HashSet<>();
        IntStream.range(0, 16).forEach(route -> assertThat(looks.add(Theme.route(route) + " " + Theme.dashes(route)))
                .isTrue());
        assertThat(Palette.DARK.routes()).hasSameSizeAs(Palette.LIGHT.routes());
    }

    @Test
    void differencesAndContrastsOfKnownColoursAreRight() {
        assertThat(ColourVision.contrast("#000000", "#ffffff")).isBetween(20.9, 21.1);
        assertThat(ColourVision.NORMAL.difference("#000000", "#ffffff")).isBetween(99.9, 100.1);
        // Red and green of equal lightness are far apart for most readers, and close for those who confuse them.
        assertThat(ColourVision.NORMAL.difference("#c05000", "#5f7d00")).isGreaterThan(40);
        assertThat(ColourVision.DEUTERANOPIA.difference("#c05000", "#5f7d00")).isLessThan(20);
    }
}
