// Example: sixteen sentences about weather and travel, with one reference each and the outputs of three systems.

const EXAMPLE = {
  metrics: [
    ["bertscore", ""],
    ["moverscore", ""],
    ["chrf", ""],
  ],
  references: [
    `The ferry to the island has been cancelled because of strong winds.
Heavy rain is expected along the coast tomorrow morning.
The bridge will stay closed until the end of the month.
Passengers should keep their tickets until they leave the station.
Snow fell overnight in the mountains above 1,500 metres.
The museum opens an hour later than usual on Sundays.
Two of the three lifts are running again.
Fog may delay the first flights of the day.
The last bus leaves the harbour at a quarter past ten.
Temperatures will fall below zero during the night.
A fallen tree is blocking the road to the lake.
Hikers are advised to turn back before sunset.
The train stops for ten minutes at the border.
The storm has moved out to sea.
Bicycles are not allowed on the express train.
The ticket office accepts cash only.`,
  ],
  systems: [
    [
      "large",
      `The ferry to the island was cancelled because of strong winds.
Heavy rain is expected on the coast tomorrow morning.
The bridge will remain closed until the end of the month.
Passengers should keep their tickets until they have left the station.
It snowed overnight in the mountains above 1,500 metres.
On Sundays the museum opens one hour later than usual.
Two of the three lifts are working again.
Fog could delay the first flights of the day.
The last bus leaves the harbour at 10.15 p.m.
Temperatures will drop below zero at night.
A fallen tree blocks the road to the lake.
Hikers are advised to turn back before sunset.
The train stops at the border for ten minutes.
The storm has moved out to sea.
Bicycles are not permitted on the express train.
The ticket office only accepts cash.`,
    ],
    [
      "small",
      `The ship to the island is cancelled for strong winds.
Tomorrow morning is expected much rain at the coast.
The bridge stays closed to the end of the month.
Passengers should hold their tickets until they leave the station.
In the night it snowed in the mountains over 1,500 metres.
The museum opens on Sundays an hour later than usually.
Two of three lifts drive again.
Fog can delay the first flights of the day.
The last bus goes from the harbour at quarter past ten.
The temperatures fall in the night under zero.
A fallen tree blocks the street to the lake.
Walkers are advised to turn around before the sunset.
The train holds ten minutes at the border.
The storm has moved to the sea.
Bicycles are in the express train not allowed.
The ticket office takes only cash.`,
    ],
    [
      "lookup",
      `The ferry on the island became because of strong winds cancelled.
Tomorrow early is strong rain at the coast awaits.
The bridge remains until end of the month closed.
Travellers should their cards until leaving the station keep.
Over night is in the mountains snow fallen.
The museum opens Sundays one hour late.
Two from three lifts run.
Fog could the flights of the day.
The last bus leaves the port at ten.
The temperatures sink in the night.
A tree lies on the street to the lake.
Hikers should before sunset back.
The train stops at the limit.
The storm is on the sea.
Wheels are allowed in the express train.
The cash desk takes cash.`,
    ],
  ],
  sources: "",
  model: "",
  recipes: "",
};
