/**
 * Draws a topology report as SVG. {@link io.jccl.cli.topo.svg.Layout} computes the positions of everything, and
 * {@link io.jccl.cli.topo.svg.Traces} the routes of channels. The painters only draw what these two have decided.
 */
package io.jccl.cli.topo.svg;
